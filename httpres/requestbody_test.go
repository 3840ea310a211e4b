package httpres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// got keeps what a server got, one entry a request.
type got struct {
	mu       sync.Mutex
	bodies   []string
	requests []*http.Request
}

func (g *got) handle(statuses ...int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			body = fmt.Append(body, " and then ", err)
		}
		g.mu.Lock()
		g.bodies = append(g.bodies, string(body))
		g.requests = append(g.requests, r)
		n := len(g.bodies)
		g.mu.Unlock()
		w.WriteHeader(statuses[min(n, len(statuses))-1])
	}
}

// HTTP-01, PITFALLS 34
func TestEveryAttemptSendsTheWholeBody(t *testing.T) {
	text := strings.Repeat("0123456789", 20_000)
	for name, body := range map[string]func() io.Reader{
		"with GetBody": func() io.Reader { return strings.NewReader(text) },
		"without":      func() io.Reader { return &stream{Reader: strings.NewReader(text)} },
	} {
		for protocol, serve := range map[string]func(*testing.T, http.HandlerFunc) *server{"HTTP/1.1": serve, "HTTP/2.0": serveHTTP2} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				var g got
				s := serve(t, g.handle(503, 503, 200))
				req := request(t, "PUT", s.URL, body())
				if status, _ := send(t, transport(t, s.base(), thrice), req); status != 200 {
					t.Errorf("status %d", status)
				}
				if !reflect.DeepEqual(g.bodies, []string{text, text, text}) {
					t.Errorf("the server got %d bodies, not three equal ones", len(g.bodies))
				}
				if sent, ok := req.Body.(*stream); ok && sent.closed.Load() != 1 {
					t.Errorf("the body was closed %d times", sent.closed.Load())
				}
			})
		}
	}
}

// HTTP-01: what breaks in the middle of a body is sent again whole.
func TestBodyIsSentAgainWholeAfterItWasCutShort(t *testing.T) {
	text := strings.Repeat("x", 500_000)
	var g got
	whole := g.handle(200)
	first := true
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if first {
			first = false
			io.CopyN(io.Discard, r.Body, 1000)
			panic(http.ErrAbortHandler) // resets the connection
		}
		whole(w, r)
	})
	sent := &stream{Reader: strings.NewReader(text)}
	status, _ := send(t, transport(t, s.base(), thrice), request(t, "PUT", s.URL, sent))
	if status != 200 || len(g.bodies) != 1 || g.bodies[0] != text {
		t.Errorf("status %d, %d bodies", status, len(g.bodies))
	}
	if sent.closed.Load() != 1 {
		t.Errorf("the body was closed %d times", sent.closed.Load())
	}
}

// HTTP-01
func TestBodyThatCannotBeReplayedIsSentOnce(t *testing.T) {
	for name, limit := range map[string]int64{"too long": 100, "nothing is kept": -1} {
		t.Run(name, func(t *testing.T) {
			var g got
			s := serve(t, g.handle(503))
			bus := events.NewBus()
			heard := listen(bus)
			tr := configured(t, s.base(), httpres.Config{Bus: bus, MaxBodyBuffer: limit, Layers: []resilience.Layer{thrice}})
			text := strings.Repeat("x", 101)
			status, _ := send(t, tr, request(t, "PUT", s.URL, &stream{Reader: strings.NewReader(text)}))
			if status != 503 || len(g.bodies) != 1 || g.bodies[0] != text {
				t.Errorf("status %d, bodies %q", status, g.bodies)
			}
			if fmt.Sprint(heard.stops()) != "[not_replayable]" {
				t.Errorf("stopped for %v, want not_replayable", heard.stops())
			}
			if len(heard.finished) != 1 || heard.finished[0].Reason != events.ReasonNotReplayable || heard.finished[0].Attempts != 1 {
				t.Errorf("the execution ended as %+v", heard.finished)
			}
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

// HTTP-01: what the caller's body says when it cannot be read is what the caller gets; the server is not to blame.
func TestFailureToReadTheBodyIsReturned(t *testing.T) {
	broken := errors.New("disk on fire")
	for name, body := range map[string]io.Reader{
		"unknown":   io.MultiReader(strings.NewReader("part"), &failing{broken}),
		"transient": io.MultiReader(strings.NewReader("part"), &failing{io.ErrUnexpectedEOF}),
	} {
		for protocol, serve := range map[string]func(*testing.T, http.HandlerFunc) *server{"HTTP/1.1": serve, "HTTP/2.0": serveHTTP2} {
			t.Run(name+" "+protocol, func(t *testing.T) {
				s := serve(t, func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
				bus := events.NewBus()
				heard := listen(bus)
				breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: bus})
				tr := configured(t, s.base(), httpres.Config{Bus: bus, Layers: []resilience.Layer{thrice, breaker}})
				sent := &stream{Reader: body}
				resp, err := tr.RoundTrip(request(t, "PUT", s.URL, sent))
				if resp != nil || err == nil || !strings.HasPrefix(err.Error(), "httpres: reading the request body: ") {
					t.Fatalf("got %v, %v", resp, err)
				}
				if !errors.Is(err, broken) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%v hides the body's own error", err)
				}
				if len(heard.attempts) != 1 || sent.closed.Load() != 1 {
					t.Errorf("%d attempts, the body closed %d times", len(heard.attempts), sent.closed.Load())
				}
				if breaker.State() != events.StateClosed {
					t.Error("the breaker has opened")
				}
			})
		}
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// HTTP-01
func TestFailingGetBodyEndsTheRetry(t *testing.T) {
	s := serve(t, answers(503))
	bus := events.NewBus()
	heard := listen(bus)
	tr := configured(t, s.base(), httpres.Config{Bus: bus, Layers: []resilience.Layer{
		resilience.Retry{Backoff: resilience.NoDelay, If: func(error) bool { return true }}}})
	req := request(t, "PUT", s.URL, strings.NewReader("x"))
	gone := errors.New("gone")
	req.GetBody = func() (io.ReadCloser, error) { return nil, gone }
	resp, err := tr.RoundTrip(req)
	if resp != nil || !errors.Is(err, gone) || fmt.Sprint(heard.stops()) != "[not_replayable]" {
		t.Errorf("got %v, %v, stopped for %v", resp, err, heard.stops())
	}
}

// HTTP-01, HTTP-09: what there is besides the body is the same for each attempt, and the caller's request is left alone.
func TestEveryAttemptIsACloneOfTheRequest(t *testing.T) {
	var g got
	s := serve(t, g.handle(503, 200))
	req := request(t, "PUT", s.URL+"/path?q=1", &stream{Reader: strings.NewReader("body")})
	req.Header.Set("X-Own", "1")
	req.Header.Set("Expect", "100-continue")
	req.Host = "other.test"
	req.Trailer = http.Header{"X-Late": nil}
	before := req.Clone(req.Context())
	changing := roundTripper(func(sent *http.Request) (*http.Response, error) {
		if sent == req || resilience.AttemptNumber(sent.Context()) > 1 && sent.Header.Get("X-Added") != "" {
			t.Error("an attempt gets a request that was used before")
		}
		sent.Header.Set("X-Added", "by a base that breaks its contract")
		return s.base().RoundTrip(sent)
	})
	resp, err := transport(t, changing, thrice).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.Request != req {
		t.Error("the response is not the request's")
	}
	before.Body = req.Body
	if !reflect.DeepEqual(before, req) {
		t.Errorf("the request was changed:\n%+v\n%+v", before, req)
	}
	for _, r := range g.requests {
		if r.Host != "other.test" || r.URL.RequestURI() != "/path?q=1" || r.Header.Get("X-Own") != "1" ||
			r.Header.Get("Expect") != "100-continue" || r.ContentLength != -1 {
			t.Errorf("the server got %+v", r)
		}
	}
}

// HTTP-01
func TestContentLengthIsKept(t *testing.T) {
	var g got
	s := serve(t, g.handle(503, 200))
	req := request(t, "PUT", s.URL, &stream{Reader: strings.NewReader("four")})
	req.ContentLength = 4
	send(t, transport(t, s.base(), thrice), req)
	for _, r := range g.requests {
		if r.ContentLength != 4 || len(r.TransferEncoding) > 0 {
			t.Errorf("the server got the length %d, %v", r.ContentLength, r.TransferEncoding)
		}
	}
}

// HTTP-01, HTTP-09: a request without a body stays one.
func TestNoBodyStaysNoBody(t *testing.T) {
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		base := roundTripper(func(sent *http.Request) (*http.Response, error) {
			if sent.Body != body {
				t.Errorf("the body is %v, want %v", sent.Body, body)
			}
			return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
		})
		req := request(t, "PUT", "http://x/", nil)
		req.Body = body
		send(t, transport(t, base, thrice), req)
	}
}

// HTTP-09: trailers are set by the caller while the body is read.
func TestTrailersAreSentWithEveryAttempt(t *testing.T) {
	for protocol, serve := range map[string]func(*testing.T, http.HandlerFunc) *server{"HTTP/1.1": serve, "HTTP/2.0": serveHTTP2} {
		t.Run(protocol, func(t *testing.T) {
			var g got
			s := serve(t, g.handle(503, 200))
			req := request(t, "PUT", s.URL, nil)
			req.Trailer = http.Header{"X-Sum": nil}
			req.ContentLength = -1
			req.Body = io.NopCloser(io.MultiReader(strings.NewReader("body"), onRead(func() { req.Trailer.Set("X-Sum", "42") })))
			send(t, transport(t, s.base(), thrice), req)
			for i, r := range g.requests {
				if r.Trailer.Get("X-Sum") != "42" {
					t.Errorf("request %d has the trailer %v", i+1, r.Trailer)
				}
			}
			if len(g.requests) != 2 {
				t.Errorf("%d requests", len(g.requests))
			}
		})
	}
}

// onRead is called when what is before it has been read.
type onRead func()

func (f onRead) Read([]byte) (int, error) { f(); return 0, io.EOF }

// The body is closed whatever happens: http.RoundTripper demands it.
func TestBodyIsClosedOnEveryPath(t *testing.T) {
	open := resilience.MustBreaker(resilience.BreakerConfig{Name: "open", Bus: events.NewBus()})
	open.ForceOpen()
	full := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "full", MaxConcurrent: 1, Bus: events.NewBus()})
	lease, err := full.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release(nil)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	s := serve(t, answers(200))
	closed := transport(t, nil)
	if err := closed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	panics := func(*http.Request) bool { panic("no idea") }

	for name, c := range map[string]struct {
		rt     http.RoundTripper
		change func(*http.Request)
	}{
		"success":               {rt: transport(t, s.base(), thrice)},
		"open breaker":          {rt: transport(t, nil, thrice, open)},
		"full bulkhead":         {rt: transport(t, nil, full, thrice)},
		"closed transport":      {rt: closed},
		"transport not made":    {rt: new(httpres.Transport)},
		"canceled":              {rt: transport(t, nil, thrice), change: func(r *http.Request) { *r = *r.WithContext(canceled) }},
		"nobody listens":        {rt: transport(t, nil, thrice), change: func(r *http.Request) { r.URL.Host = "127.0.0.1:1" }},
		"no URL":                {rt: transport(t, nil, thrice), change: func(r *http.Request) { r.URL = nil }},
		"no header":             {rt: transport(t, nil, thrice), change: func(r *http.Request) { r.Header = nil }},
		"unknown scheme":        {rt: transport(t, nil, thrice), change: func(r *http.Request) { r.URL.Scheme = "gopher" }},
		"Idempotent panics":     {rt: configured(t, nil, httpres.Config{Idempotent: panics})},
		"base panics":           {rt: transport(t, roundTripper(func(*http.Request) (*http.Response, error) { panic("base") }), thrice)},
		"layer answers instead": {rt: transport(t, nil, instead{})},
		"base returns nothing":  {rt: transport(t, roundTripper(func(*http.Request) (*http.Response, error) { return nil, nil }), thrice)},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, body := range map[string]*stream{"GetBody": {Reader: strings.NewReader("x")}, "stream": {Reader: strings.NewReader("x")}} {
				req := request(t, "PUT", s.URL, body)
				if kind == "GetBody" {
					req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("x")), nil }
				}
				if c.change != nil {
					c.change(req)
				}
				func() {
					defer func() { recover() }()
					if resp, err := c.rt.RoundTrip(req); err == nil {
						resp.Body.Close()
					} else if resp != nil {
						t.Errorf("%s: a response and %v", kind, err)
					}
				}()
				if misbehaves := name == "base panics" || name == "base returns nothing"; misbehaves && kind == "GetBody" {
					continue // it was handed over
				}
				if body.closed.Load() == 0 {
					t.Errorf("%s: the body was not closed", kind)
				}
			}
		})
	}
}

// instead answers without asking what is inside.
type instead struct{}

func (instead) LayerInfo() resilience.LayerInfo { return resilience.LayerInfo{Name: "instead"} }

func (instead) Wrap(resilience.Next[*http.Response]) resilience.Next[*http.Response] {
	return func(context.Context, resilience.Call, resilience.Operation[*http.Response]) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(nil))}, nil
	}
}

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
