package httpres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

var hedged = resilience.Hedge{Delay: 100 * time.Millisecond}

// firstStalls answers all but the first request, with the bodies it got.
func firstStalls(t *testing.T) (http.HandlerFunc, *atomic.Int32) {
	n := new(atomic.Int32)
	return func(w http.ResponseWriter, r *http.Request) {
		first := n.Add(1) == 1
		body, _ := io.ReadAll(r.Body)
		if first {
			pause(r, time.Hour)
			return
		}
		w.Write(body)
	}, n
}

// HTTP-02, HTTP-01: a request that may be repeated is, with its whole body, and the answer's body outlives the race.
func TestHedgeSendsAgainWhatMayBeSentAgain(t *testing.T) {
	for _, protocol := range protocols {
		for name, c := range map[string]struct {
			method string
			body   func() io.Reader
			want   int32
		}{
			"GET":             {"GET", func() io.Reader { return nil }, 2},
			"PUT":             {"PUT", func() io.Reader { return strings.NewReader("a body") }, 2},
			"POST":            {"POST", func() io.Reader { return strings.NewReader("a body") }, 1},
			"PUT of a stream": {"PUT", func() io.Reader { return &stream{Reader: strings.NewReader("a body")} }, 1},
		} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				handle, requests := firstStalls(t)
				inBubble(t, protocol, handle, func(t *testing.T, base *http.Transport, _ *network) {
					places := bulkhead(t, 10)
					bus := events.NewBus()
					started := 0
					bus.HedgeStarted.Subscribe(func(context.Context, events.HedgeStarted) { started++ })
					tr := configured(t, base, httpres.Config{Bus: bus, Layers: []resilience.Layer{places, resilience.Timeout{After: 10 * time.Second}, hedged, resilience.Timeout{After: 5 * time.Second}}})
					began := time.Now()
					resp, err := tr.RoundTrip(request(t, c.method, bubbleURL, c.body()))
					if requests.Load() != c.want || started != int(c.want)-1 {
						t.Errorf("%d requests, %d hedges, want %d requests", requests.Load(), started, c.want)
					}
					if c.want == 1 {
						if !errors.Is(err, resilience.ErrTimeout) || time.Since(began) != 5*time.Second {
							t.Errorf("after %v: %v, %v", time.Since(began), resp, err)
						}
						return
					}
					if err != nil || time.Since(began) != 100*time.Millisecond {
						t.Fatalf("after %v: %v", time.Since(began), err)
					}
					body, err := io.ReadAll(resp.Body)
					if want := map[string]string{"GET": "", "PUT": "a body"}[c.method]; string(body) != want || err != nil || resp.Request.Context() != t.Context() {
						t.Errorf("the body is %q, %v", body, err)
					}
					resp.Body.Close()
					if err := tr.Close(t.Context()); err != nil || used(places) != 0 {
						t.Errorf("%v, %d places are held", err, used(places))
					}
				})
			})
		}
	}
}

// HTTP-02: where all that ran has failed, a stream that was remembered whole is sent once more, a POST is not.
func TestHedgeAfterAFailure(t *testing.T) {
	for method, want := range map[string]int32{"PUT": 2, "POST": 1} {
		s := serve(t, answers(503, 200))
		tr := transport(t, s.base(), resilience.Hedge{Delay: time.Minute})
		status, _ := send(t, tr, request(t, method, s.URL, &stream{Reader: strings.NewReader("x")}))
		if n := s.requests.Load(); n != want || status != map[string]int{"PUT": 200, "POST": 503}[method] {
			t.Errorf("%s: %d requests, status %d", method, n, status)
		}
	}
}

// HTTP-02: OnHedge of the user's is still asked, and no trailer is read by two.
func TestHedgeAsksItsOwnOnHedge(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"OnHedge": func(r *http.Request) { r.Header.Set("Costly", "yes") },
		"trailer": func(r *http.Request) { r.Trailer = http.Header{"X-Sum": nil} },
	} {
		handle, requests := firstStalls(t)
		inBubble(t, "HTTP/1.1", handle, func(t *testing.T, base *http.Transport, _ *network) {
			req := request(t, "PUT", bubbleURL, strings.NewReader("x"))
			change(req)
			h := hedged
			h.OnHedge = func(context.Context) bool { return req.Header.Get("Costly") == "" }
			tr := transport(t, base, &h, resilience.Timeout{After: time.Second})
			if _, err := tr.RoundTrip(req); !errors.Is(err, resilience.ErrTimeout) || requests.Load() != 1 {
				t.Errorf("%s: %v after %d requests", name, err, requests.Load())
			}
		})
	}
}

// HTTP-07, HTTP-08: the hedge goes to the next server, past the breaker of that one, with its number.
func TestHedgeGoesToAnotherServer(t *testing.T) {
	var mu sync.Mutex
	var got []string
	note := func(name string, stalls bool) *server {
		return serve(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			got = append(got, name+" "+r.Header.Get("N")+" "+fmt.Sprint(strings.HasPrefix(r.Host, "127.")))
			mu.Unlock()
			if stalls {
				pause(r, time.Minute)
			}
		})
	}
	here, there := note("here", true), note("there", false)
	endpoint := func(s *server) *url.URL { u, _ := url.Parse(s.URL); return u }
	perHost := httpres.MustBreakerPerHost(resilience.BreakerConfig{Name: "hosts", Bus: events.Off()})
	tr := configured(t, http.DefaultTransport, httpres.Config{AttemptHeader: "N", Layers: []resilience.Layer{
		resilience.Timeout{}, resilience.Hedge{Delay: 20 * time.Millisecond}, httpres.Route{To: httpres.Endpoints(endpoint(here), endpoint(there))}, perHost}})
	req := request(t, "GET", "http://replicas.test/path", nil)
	send(t, tr, req)
	if s := fmt.Sprint(got); s != "[here 1 true there 2 true]" || req.URL.Host != "replicas.test" {
		t.Errorf("got %s; the request is for %s", s, req.URL)
	}
	gate, known := perHost.Get(endpoint(here).Host)
	if !known || perHost.Len() != 2 {
		t.Fatalf("%d hosts are known", perHost.Len())
	}
	gate.(*resilience.Breaker).ForceOpen()
	got = nil
	send(t, tr, req)
	if s := fmt.Sprint(got); s != "[there 1 true]" {
		t.Errorf("with the first server's breaker open: %s", s)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// HTTP-01, HTTP-12: the request is the caller's again when RoundTrip returns, also while runs that lost still go on.
func TestLosersDoNotTouchTheRequestAfterwards(t *testing.T) {
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		if resilience.AttemptNumber(r.Context()) > 1 {
			return nil, errRefused
		}
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("x"))}, nil
	})
	tr := transport(t, base, resilience.Hedge{MaxAttempts: 3, Delay: 1})
	for range 300 {
		req := request(t, "PUT", "http://x/", strings.NewReader("x"))
		resp, err := tr.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		req.Header.Set("Changed", "yes") // the race detector looks on
		req.URL.Path = "/changed"
	}
	if err := tr.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// PIPE-20: a thousand hedged requests leave no connection, body, permit or goroutine.
func TestAThousandHedgedRequestsLeaveNothingBehind(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			var n atomic.Int32
			handle := func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				switch n.Add(1) % 5 {
				case 0:
					pause(r, time.Hour)
				case 1:
					pause(r, 3*time.Second)
				case 2:
					w.WriteHeader(503)
				case 3:
					panic(http.ErrAbortHandler)
				}
				io.WriteString(w, strings.Repeat("x", 1000))
			}
			inBubble(t, protocol, handle, func(t *testing.T, base *http.Transport, _ *network) {
				tr := configured(t, base, httpres.StandardHedging("x"))
				var wg sync.WaitGroup
				for worker := range 50 {
					wg.Go(func() {
						for i := worker; i < 1000; i += 50 {
							body := []io.Reader{strings.NewReader("yes"), &stream{Reader: strings.NewReader("yes")}}[i%2]
							use(tr, request(t, []string{"PUT", "POST", "PUT"}[i%3], bubbleURL, body), i)
						}
					})
				}
				wg.Wait()
				if err := tr.Close(t.Context()); err != nil {
					t.Error(err)
				}
				synctest.Wait()
			})
		})
	}
}
