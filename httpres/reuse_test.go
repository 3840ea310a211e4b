package httpres_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// HTTP-03, HTTP-06: letting go at the end of a body, or at once where there is none, does not cost the connection.
func TestOneConnectionServesOneRequestAfterAnother(t *testing.T) {
	for protocol, serve := range map[string]func(*testing.T, http.HandlerFunc) *server{"HTTP/1.1": serve, "HTTP/2.0": serveHTTP2} {
		for name, status := range map[string]int{"a body": 200, "none": 204} {
			for _, closes := range []bool{true, false} {
				t.Run(fmt.Sprint(protocol, " ", name, " closes ", closes), func(t *testing.T) {
					s := serve(t, func(w http.ResponseWriter, r *http.Request) {
						io.Copy(io.Discard, r.Body)
						w.WriteHeader(status)
						if status == 200 {
							io.WriteString(w, "the body")
						}
					})
					places := bulkhead(t, 1)
					tr := transport(t, s.base(), places, resilience.Timeout{After: time.Minute}, thrice, resilience.Timeout{After: time.Minute})
					for i := range 30 {
						var body io.Reader
						if i%2 == 1 {
							body = strings.NewReader("x")
						}
						resp, err := tr.RoundTrip(request(t, "PUT", s.URL, body))
						if err != nil {
							t.Fatal(err)
						}
						if _, err := io.ReadAll(resp.Body); err != nil {
							t.Fatal(err)
						}
						if closes {
							resp.Body.Close()
						}
					}
					if n := s.connections.Load(); n != 1 {
						t.Errorf("30 requests took %d connections", n)
					}
				})
			}
		}
	}
}

// PIPE-13: a base that panics or ends its goroutine leaves no place, context or body behind.
func TestBaseThatDoesNotReturnLeavesNothingBehind(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("base") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			places := bulkhead(t, 1)
			var sent *http.Request
			tr := transport(t, roundTripper(func(req *http.Request) (*http.Response, error) {
				sent = req
				end()
				return nil, nil
			}), places, resilience.Timeout{}, thrice, resilience.Timeout{})
			body := &stream{Reader: strings.NewReader("x")}
			ended := make(chan any)
			go func() {
				defer func() { ended <- recover() }()
				tr.RoundTrip(request(t, "PUT", "http://x/", body))
			}()
			if p := <-ended; (p == "base") != (name == "panic") {
				t.Errorf("it panicked with %v", p)
			}
			if used(places) != 0 || sent.Context().Err() == nil || body.closed.Load() != 1 {
				t.Errorf("%d places are held, the context %v, the body closed %d times", used(places), sent.Context().Err(), body.closed.Load())
			}
		})
	}
}
