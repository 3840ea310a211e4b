package httpres_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-20: whatever happens to a thousand requests, no connection, body or goroutine is left when they are done.
func TestAThousandRequestsLeaveNothingBehind(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			handle := func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				switch {
				case r.URL.Path == "/stall":
					pause(r, time.Hour)
				case r.URL.Path == "/abort":
					panic(http.ErrAbortHandler)
				case r.URL.Path == "/half":
					w.Header().Set("Content-Length", "100")
					io.WriteString(w, "half")
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				case r.URL.Path == "/busy" && r.Header.Get("X-Attempt") != "3":
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(503)
				}
				io.WriteString(w, strings.Repeat("x", 1000))
			}
			inBubble(t, protocol, handle, func(t *testing.T, base *http.Transport, _ *network) {
				numbered := roundTripper(func(req *http.Request) (*http.Response, error) {
					req.Header.Set("X-Attempt", fmt.Sprint(resilience.AttemptNumber(req.Context())))
					return base.RoundTrip(req)
				})
				places := bulkhead(t, 2000)
				tr := configured(t, numbered, httpres.Config{Layers: []resilience.Layer{
					places, resilience.Timeout{After: 20 * time.Second}, resilience.Retry{}, resilience.Timeout{After: 2 * time.Second}}})
				paths := []string{"", "stall", "abort", "half", "busy"}
				var bodies [1000]stream
				var wg sync.WaitGroup
				for worker := range 50 {
					wg.Go(func() {
						for i := worker; i < len(bodies); i += 50 {
							bodies[i].Reader = strings.NewReader(strings.Repeat("y", 500))
							req := request(t, []string{"PUT", "POST"}[i%2], bubbleURL+paths[i%5], &bodies[i])
							use(tr, req, i)
						}
					})
				}
				wg.Wait()
				synctest.Wait()
				if n := used(places); n != 0 {
					t.Errorf("%d places are held", n)
				}
				for i := range bodies {
					if n := bodies[i].closed.Load(); n != 1 {
						t.Errorf("the body of request %d was closed %d times", i, n)
					}
				}
			})
		})
	}
}

// use sends the i-th of a thousand requests, and may leave early, read or not, close or not: who reads to the end need not
// close.
func use(rt http.RoundTripper, req *http.Request, i int) {
	if i%7 == 0 {
		ctx, cancel := context.WithTimeout(req.Context(), time.Duration(i)*3*time.Millisecond)
		defer cancel()
		req = req.WithContext(ctx)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return
	}
	if i%3 > 0 {
		io.ReadAll(resp.Body)
	}
	if i%3 < 2 {
		resp.Body.Close()
	}
}
