package grpcres_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
)

// GRPC-01, GRPC-02, PIPE-20: 500 calls and streams, of which many fail, are given up or break, leave no goroutine and
// no permit.
func TestFiveHundredCallsLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "places", MaxConcurrent: 1000, Bus: events.NewBus()})
		s := serve(t, script{
			unary: func(ctx context.Context, n int, in string) (string, error) {
				switch n % 4 {
				case 0:
					return "", errDown
				case 1:
					return hang(ctx, 1, in)
				}
				return in, nil
			},
			stream: func(n int, ss grpc.ServerStream) error {
				switch n % 4 {
				case 0:
					return downStream(0)(1, ss)
				case 1:
					return downStream(2)(1, ss)
				case 2:
					return endless(n, ss)
				}
				return downStream()(n, ss)
			},
		})
		c, _ := client(t, grpcres.Config{Idempotent: idempotent, Layers: []resilience.Layer{
			places, resilience.Timeout{Name: "total", After: 2 * time.Second}, resilience.Retry{Backoff: resilience.NoDelay},
			resilience.Timeout{Name: "attempt", After: 100 * time.Millisecond},
		}})
		cc := connect(t, s, c.DialOptions()...)
		call(t.Context(), cc, "warm")
		synctest.Wait()
		before, _ := goroutines()
		queue := make(chan int)
		var done sync.WaitGroup
		for range 25 {
			done.Go(func() {
				for i := range queue {
					ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
					if i%2 == 0 {
						call(ctx, cc, "x")
					} else if st, err := down(ctx, cc, "m"); err == nil && i%3 > 0 {
						all(st)
					}
					cancel()
				}
			})
		}
		for i := range 500 {
			queue <- i
		}
		close(queue)
		done.Wait()
		time.Sleep(2 * time.Second) // the longest that a call may take
		synctest.Wait()
		if n := used(places); n != 0 {
			t.Errorf("%d places are held", n)
		}
		if now, stacks := goroutines(); now > before {
			t.Errorf("%d goroutines are left of %d:\n%s", now, before, stacks)
		}
	})
}

// goroutines returns how many there are, and their stacks. runtime.NumGoroutine also counts those that are just ending.
func goroutines() (n int, stacks string) {
	all := make([]byte, 1<<20)
	stacks = string(all[:runtime.Stack(all, true)])
	return strings.Count(stacks, "\n\n") + 1, stacks
}
