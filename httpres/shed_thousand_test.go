package httpres_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// HTTP-10, PIPE-20: a thousand requests, of which some leave, panic, exit or are turned away, leave no permit and no goroutine.
func TestAThousandServedRequestsLeaveNothingBehind(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			handler := http.Handler(http.NotFoundHandler())
			inBubble(t, protocol, func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }, func(t *testing.T, base *http.Transport, _ *network) {
				room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 10, MaxQueue: 20, MaxWait: time.Second, Bus: events.Off()})
				limiter := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "limit", Bus: events.Off()})
				m := middleware(t, httpres.MiddlewareConfig{Timeout: httpres.TimeoutFrom("T"), Priority: httpres.PriorityFrom("P"),
					Layers: []resilience.Layer{limiter, room, resilience.Timeout{After: 2 * time.Second}}})
				handler = m.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					switch r.URL.Path {
					case "/slow":
						pause(r, 3*time.Second)
					case "/abort":
						panic(http.ErrAbortHandler)
					case "/exit":
						io.WriteString(w, "x")
						runtime.Goexit()
					}
					io.Copy(w, r.Body)
				}))
				var mu sync.Mutex
				statuses := map[int]int{}
				var wg sync.WaitGroup
				for worker := range 50 {
					wg.Go(func() {
						for i := worker; i < 1000; i += 50 {
							paths := []string{"", "slow", "abort", "slow", ""}
							if protocol == "HTTP/1.1" && i%50 == 7 {
								paths = []string{"exit"} // HTTP/2 would wait for the stream's end
							}
							req := request(t, "PUT", bubbleURL+paths[i%len(paths)], &stream{Reader: &io.LimitedReader{R: zeros{}, N: 5000}})
							req.Header.Set("T", fmt.Sprint(i*5, "m"))
							req.Header.Set("P", []string{"low", "critical", ""}[i%3])
							ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%9+1)*time.Second)
							resp, err := base.RoundTrip(req.WithContext(ctx))
							if err == nil {
								io.Copy(io.Discard, resp.Body)
								resp.Body.Close()
								mu.Lock()
								statuses[resp.StatusCode]++
								mu.Unlock()
							}
							cancel()
						}
					})
				}
				wg.Wait()
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := room.Snapshot(); n.Usage != 0 || n.Queued != 0 || limiter.Snapshot().Usage != 0 {
					t.Errorf("left: %+v, %+v", n, limiter.Snapshot())
				}
				if statuses[200] == 0 || statuses[503] == 0 || statuses[504] == 0 {
					t.Errorf("the test is too easy: %v", statuses)
				}
			})
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
