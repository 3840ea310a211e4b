package httpres_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// HTTP-09
func TestRedirectsAreFollowed(t *testing.T) {
	var g got
	final := g.handle(503, 200)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusTemporaryRedirect)
			return
		}
		final(w, r)
	})
	client := &http.Client{Transport: transport(t, s.base(), resilience.Timeout{}, thrice)}
	resp, err := client.Do(request(t, "PUT", s.URL+"/old", strings.NewReader("body")))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.Request.URL.Path != "/new" || fmt.Sprint(g.bodies) != "[body body]" {
		t.Errorf("status %d of %v, bodies %q", resp.StatusCode, resp.Request.URL, g.bodies)
	}
}

// HTTP-09: a connection that was switched to another protocol stays one, and ends with Close alone.
func TestUpgradedConnectionIsReadAndWritten(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		rw.Flush()
		io.Copy(conn, rw)
	})
	places := bulkhead(t, 1)
	tr := transport(t, s.base(), places, resilience.Timeout{After: time.Minute}, thrice, resilience.Timeout{After: time.Second})
	req := request(t, "GET", s.URL, nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || resp.StatusCode != 101 {
		t.Fatalf("the body of status %d is a %T", resp.StatusCode, resp.Body)
	}
	in := bufio.NewReader(conn)
	for _, line := range []string{"one\n", "two\n"} {
		io.WriteString(conn, line)
		if echo, err := in.ReadString('\n'); echo != line {
			t.Errorf("got %q, %v", echo, err)
		}
	}
	half, ok := resp.Body.(interface{ CloseWrite() error })
	if !ok {
		t.Fatalf("a %T cannot close its writing end", resp.Body)
	}
	if err := half.CloseWrite(); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(in); len(rest) > 0 || err != nil {
		t.Errorf("after the end came %q, %v", rest, err)
	}
	if n := used(places); n != 1 {
		t.Errorf("%d places are held before Close", n)
	}
	conn.Close()
	if n := used(places); n != 0 {
		t.Errorf("%d places are held after Close", n)
	}
}

// HTTP-09: a connection shows what it can do, no more and no less.
func TestUpgradedConnectionKeepsItsMethods(t *testing.T) {
	client, server := net.Pipe()
	defer server.Close()
	resp, err := transport(t, answering(101, client), thrice).RoundTrip(request(t, "GET", "http://x/", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, ok := resp.Body.(io.Writer); !ok {
		t.Errorf("a %T cannot be written to", resp.Body)
	}
	if _, ok := resp.Body.(interface{ CloseWrite() error }); ok {
		t.Errorf("a %T closes what a pipe cannot", resp.Body)
	}
}

// HTTP-09: the server hears of a body only when it asks for it.
func TestExpectContinueIsKept(t *testing.T) {
	var n int
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n++; n == 1 {
			w.Header().Set("Connection", "close")
			w.WriteHeader(503) // unread: no 100 Continue is sent
			return
		}
		io.Copy(io.Discard, r.Body)
	})
	s.base().ExpectContinueTimeout = time.Minute
	continued := 0
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { continued++ }})
	body := &counted{Reader: strings.NewReader("body")}
	req := request(t, "PUT", s.URL, &stream{Reader: body}).WithContext(ctx)
	req.Header.Set("Expect", "100-continue")
	req.ContentLength = 4
	before := 0
	watching := roundTripper(func(sent *http.Request) (*http.Response, error) {
		resp, err := s.base().RoundTrip(sent)
		if n == 1 {
			before = body.n
		}
		return resp, err
	})
	status, _ := send(t, transport(t, watching, thrice), req)
	if status != 200 || before != 0 || continued != 1 {
		t.Errorf("status %d, %d reads before the server asked, %d times asked", status, before, continued)
	}
}

// PITFALLS 22, 36, RET-02, HTTP-08: each attempt's request has the context of that attempt.
func TestEveryAttemptHasItsOwnContext(t *testing.T) {
	type spanKey struct{}
	type callerKey struct{}
	bus := events.NewBus()
	bus.Attempt.Observe(func(ctx context.Context, e events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
		return context.WithValue(ctx, spanKey{}, fmt.Sprint("span ", e.Attempt)), func(events.AttemptFinished) {}
	})
	var sent []string
	base := roundTripper(func(req *http.Request) (*http.Response, error) {
		ctx := req.Context()
		sent = append(sent, fmt.Sprintf("%v %v %d", ctx.Value(callerKey{}), ctx.Value(spanKey{}), resilience.AttemptNumber(ctx)))
		return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
	})
	tr := configured(t, base, httpres.Config{Bus: bus, Layers: []resilience.Layer{thrice}})
	ctx := context.WithValue(t.Context(), callerKey{}, "caller")
	send(t, tr, request(t, "GET", "http://x/", nil).WithContext(ctx))
	if want := "[caller span 1 1 caller span 2 2 caller span 3 3]"; fmt.Sprint(sent) != want {
		t.Errorf("sent with %q, want %s", sent, want)
	}
}

// HTTP-09
func TestHTTP2IsSpoken(t *testing.T) {
	s := serveHTTP2(t, answers(503, 200))
	client := &http.Client{Transport: transport(t, s.base(), resilience.Timeout{}, thrice)}
	resp, err := client.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.ProtoMajor != 2 || resp.StatusCode != 200 || string(body) != "the body" || err != nil {
		t.Errorf("%s %d %q %v", resp.Proto, resp.StatusCode, body, err)
	}
	if n := s.connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}
