package httpres_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// HTTP-01
func TestBodyThatCannotBeReplayedIsSentOnce(t *testing.T) {
	for name, limit := range map[string]int64{"too long": 100, "nothing is kept": -1} {
		t.Run(name, func(t *testing.T) {
			var g got
			s := serve(t, g.handle(503))
			bus := events.NewBus()
			heard := resiliencetest.Record(bus)
			tr := configured(t, s.base(), httpres.Config{Bus: bus, MaxBodyBuffer: limit, Layers: []resilience.Layer{thrice}})
			text := strings.Repeat("x", 101)
			status, _ := send(t, tr, request(t, "PUT", s.URL, &stream{Reader: strings.NewReader(text)}))
			if status != 503 || len(g.bodies) != 1 || g.bodies[0] != text {
				t.Errorf("status %d, bodies %q", status, g.bodies)
			}
			resiliencetest.Want(t, heard, events.RetryStopped{Reason: events.ReasonNotReplayable},
				events.ExecutionFinished{Reason: events.ReasonNotReplayable, Attempts: 1})
		})
	}
}

// HTTP-01: exactly the limit is kept.
func TestBodyOfTheLimitIsSentAgain(t *testing.T) {
	var g got
	s := serve(t, g.handle(503, 200))
	tr := configured(t, s.base(), httpres.Config{MaxBodyBuffer: 100, Layers: []resilience.Layer{thrice}})
	status, _ := send(t, tr, request(t, "PUT", s.URL, &stream{Reader: strings.NewReader(strings.Repeat("x", 100))}))
	if status != 200 || len(g.bodies) != 2 {
		t.Errorf("status %d after %d requests", status, len(g.bodies))
	}
}

// HTTP-01: a body too long to be kept is whole as long as nothing of it was read.
func TestBodyOfWhichNothingWasReadIsSentAgain(t *testing.T) {
	var g got
	s := serve(t, g.handle(200))
	calls := 0
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		if calls++; calls == 1 {
			req.Body.Close()
			return nil, &resilience.TimeoutError{} // of a connection that could not be made
		}
		return s.base().RoundTrip(req)
	})
	tr := configured(t, base, httpres.Config{MaxBodyBuffer: -1, Layers: []resilience.Layer{thrice}})
	sent := &stream{Reader: strings.NewReader("whole")}
	status, _ := send(t, tr, request(t, "PUT", s.URL, sent))
	if status != 200 || fmt.Sprint(g.bodies) != "[whole]" || sent.closed.Load() != 1 {
		t.Errorf("status %d, bodies %q, closed %d times", status, g.bodies, sent.closed.Load())
	}
}

// HTTP-01: a body is sent as it comes, and not gathered first.
func TestBodyIsStreamed(t *testing.T) {
	read := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		io.ReadFull(r.Body, make([]byte, 5))
		close(read)
		io.Copy(io.Discard, r.Body)
	})
	in, out := io.Pipe()
	go func() {
		io.WriteString(out, "first")
		<-read // the server has it before there is more
		io.WriteString(out, "second")
		out.Close()
	}()
	if status, _ := send(t, transport(t, s.base(), thrice), request(t, "PUT", s.URL, in)); status != 200 {
		t.Errorf("status %d", status)
	}
}

// HTTP-01: the next attempt waits for a read that the last one left under way, and misses nothing.
func TestReadLeftUnderWayIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		left := make(chan struct{})
		calls := 0
		var body []byte
		base := roundTripper(func(req *http.Request) (*http.Response, error) {
			if calls++; calls == 1 {
				go func() {
					defer close(left)
					io.ReadAll(req.Body)
				}()
				synctest.Wait() // it reads
				req.Body.Close()
				return nil, io.ErrUnexpectedEOF
			}
			go func() {
				synctest.Wait() // both want to read
				io.WriteString(out, "the whole ")
				io.WriteString(out, "body")
				out.Close()
			}()
			var err error
			body, err = io.ReadAll(req.Body)
			req.Body.Close()
			return &http.Response{StatusCode: 200, Body: http.NoBody}, err
		})
		send(t, transport(t, base, thrice), request(t, "PUT", "http://x/", in))
		if string(body) != "the whole body" {
			t.Errorf("the second attempt sent %q", body)
		}
		<-left
	})
}

// HTTP-01: a read that the last attempt left under way may bring more than can be remembered.
func TestReadLeftUnderWayMayBringTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		left := make(chan struct{})
		base := roundTripper(func(req *http.Request) (*http.Response, error) {
			if resilience.AttemptNumber(req.Context()) == 1 {
				go func() {
					defer close(left)
					io.ReadAll(req.Body)
				}()
				synctest.Wait() // it reads
				req.Body.Close()
				return nil, io.EOF
			}
			go io.WriteString(out, "more than ten bytes")
			_, err := io.ReadAll(req.Body)
			return nil, err
		})
		bus := events.NewBus()
		heard := resiliencetest.Record(bus)
		tr := configured(t, base, httpres.Config{Bus: bus, MaxBodyBuffer: 10, Layers: []resilience.Layer{thrice}})
		_, err := tr.RoundTrip(request(t, "PUT", "http://x/", in))
		if err == nil || err.Error() != "httpres: reading the request body: it is too long to be sent again" {
			t.Errorf("got %v", err)
		}
		resiliencetest.Want(t, heard, events.AttemptFinished{}, events.AttemptFinished{}, events.RetryStopped{Reason: events.ReasonNotReplayable})
		<-left
	})
}

// HTTP-01, PIPE-20: an attempt that waits for the read of the one before ends with its own body.
func TestAttemptDoesNotWaitForAReadWhenItsBodyIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := &stuckBody{release: make(chan struct{})}
		reads := make(chan error, 2)
		base := roundTripper(func(req *http.Request) (*http.Response, error) {
			go func() {
				_, err := req.Body.Read(make([]byte, 1))
				reads <- err
			}()
			synctest.Wait() // it reads, or waits for its turn
			req.Body.Close()
			return nil, io.EOF
		})
		tr := transport(t, base, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay})
		if _, err := tr.RoundTrip(request(t, "PUT", "http://x/", stuck)); err != io.EOF {
			t.Errorf("got %v", err)
		}
		if err := <-reads; err != http.ErrBodyReadAfterClose {
			t.Errorf("the waiting read ended with %v", err)
		}
		close(stuck.release)
		<-reads
	})
}

// stuckBody is read when it is released, and ignores Close.
type stuckBody struct{ release chan struct{} }

func (b *stuckBody) Read([]byte) (int, error) { <-b.release; return 0, io.EOF }
func (b *stuckBody) Close() error             { return nil }

// HTTP-01: bodies of hundreds of requests that are cut short and repeated at once do not mix.
func TestBodiesOfConcurrentRequestsDoNotMix(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || strings.Trim(string(body), string(body[:1])) != "" || len(body) != 50_000 {
			t.Errorf("a mixed body of %d bytes, %v", len(body), err)
		}
		if r.Header.Get("X-Attempt") != "3" {
			w.WriteHeader(503)
		}
	})
	numbered := roundTripper(func(req *http.Request) (*http.Response, error) {
		req.Header.Set("X-Attempt", fmt.Sprint(resilience.AttemptNumber(req.Context())))
		return s.base().RoundTrip(req)
	})
	tr := transport(t, numbered, resilience.Timeout{After: time.Minute}, thrice)
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			body := &stream{Reader: strings.NewReader(strings.Repeat(string(rune('a'+i%26)), 50_000))}
			resp, err := tr.RoundTrip(request(t, "PUT", s.URL, body))
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != 200 || body.closed.Load() != 1 {
				t.Errorf("status %d, the body closed %d times", resp.StatusCode, body.closed.Load())
			}
		})
	}
	wg.Wait()
}
