package httpres_test

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/resilience"
)

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
