package grpcres_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// GRPC-02, PIPE-27: the permits and the breaker's judgement are those of the whole stream.
func TestPermitsAreHeldForTheStreamsLife(t *testing.T) {
	for name, c := range map[string]struct {
		fails []int
		early bool
		want  events.State
	}{
		"ends well":                 {[]int{-1}, false, events.StateClosed},
		"breaks":                    {[]int{2}, false, events.StateOpen},
		"breaks, judged by message": {[]int{2}, true, events.StateClosed},
	} {
		bubble(t, name, func(t *testing.T) {
			places := bulkhead()
			breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()})
			s := serve(t, script{stream: downStream(c.fails...)})
			cfg := streaming(idempotent, places, thrice, breaker, resilience.Timeout{})
			cfg.JudgeAtFirstMessage = c.early
			cl, _ := client(t, cfg)
			cc := connect(t, s, cl.DialOptions()...)
			st, err := down(t.Context(), cc, "m")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := receive(st); err != nil || used(places) != 1 {
				t.Fatalf("%v, %d places are held after the first message", err, used(places))
			}
			if _, err := down(t.Context(), cc, "m"); !errors.Is(err, resilience.ErrLimited) || status.Code(err) != codes.ResourceExhausted {
				t.Errorf("another stream gets %v", err)
			}
			all(st)
			if used(places) != 0 || breaker.State() != c.want {
				t.Errorf("at the end %d places are held, the breaker is %v", used(places), breaker.State())
			}
		})
	}
}

// endless answers until the client leaves.
func endless(_ int, s grpc.ServerStream) error {
	for s.Context().Err() == nil {
		if err := sendText(s, "more"); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return s.Context().Err()
}

// GRPC-02: who leaves without reading on lets go, and the breaker does not mind.
func TestCallerLeavesAStream(t *testing.T) {
	for _, when := range []string{"before the first message", "after it", "by closing the channel"} {
		bubble(t, when, func(t *testing.T) {
			places := bulkhead()
			breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()})
			s := serve(t, script{stream: endless})
			c, _ := client(t, streaming(idempotent, places, thrice, breaker))
			cc := connect(t, s, c.DialOptions()...)
			ctx, cancel := context.WithCancel(t.Context())
			st, err := down(ctx, cc, "m")
			if err != nil {
				t.Fatal(err)
			}
			if when != "before the first message" {
				receive(st)
			}
			if when == "by closing the channel" {
				cc.Close()
				defer cancel()
			} else {
				cancel()
			}
			synctest.Wait()
			if n := used(places); n != 0 {
				t.Errorf("%d places are held", n)
			}
			if _, err := all(st); status.Code(err) != codes.Canceled {
				t.Errorf("receiving gives %v", err)
			}
			if breaker.State() != events.StateClosed {
				t.Errorf("the breaker is %v", breaker.State())
			}
		})
	}
}

// GRPC-02: a Timeout inside of a Retry covers an attempt until its first message, one outside the whole stream.
func TestTimeoutsOfStreams(t *testing.T) { synctest.Test(t, timeoutsOfStreams) }

func timeoutsOfStreams(t *testing.T) {
	attempt := resilience.Timeout{Name: "attempt", After: 80 * time.Millisecond}
	s := serve(t, script{stream: func(n int, ss grpc.ServerStream) error {
		if n == 1 {
			<-ss.Context().Done()
			return nil
		}
		if err := sendText(ss, "first"); err != nil {
			return err
		}
		time.Sleep(150 * time.Millisecond)
		return sendText(ss, "second")
	}})
	c, _ := client(t, streaming(idempotent, thrice, attempt))
	st, err := down(t.Context(), connect(t, s, c.DialOptions()...), "m")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := all(st); err != nil || len(got) != 2 {
		t.Errorf("the attempt's timeout: got %v, %v", got, err)
	}
	s.served(t, 2)

	s = serve(t, script{stream: endless})
	c, _ = client(t, streaming(idempotent, resilience.Timeout{Name: "total", After: 80 * time.Millisecond}, thrice))
	if st, err = down(t.Context(), connect(t, s, c.DialOptions()...), "m"); err != nil {
		t.Fatal(err)
	}
	if got, err := all(st); len(got) == 0 || !errors.Is(err, resilience.ErrTimeout) || status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("the total: got %d messages, %v", len(got), err)
	}
}

// GRPC-02: an interceptor further in that panics or ends its goroutine leaves nothing behind.
func TestStreamerThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hedged := resilience.MustPipeline(resilience.PipelineConfig[any]{Name: "hedged", Layers: []resilience.Layer{resilience.Hedge{}}, Bus: events.Off()})
		for name, bad := range map[string]func(){
			"panics": func() { panic("ouch") },
			"exits":  runtime.Goexit,
			"panics in a hedge": func() {
				_, _ = hedged.Do(t.Context(), func(context.Context) (any, error) { panic("ouch") })
			},
		} {
			places := bulkhead()
			c, _ := client(t, streaming(idempotent, places, thrice))
			desc, broken := downDesc, true
			s := serve(t, script{stream: downStream()})
			cc := connect(t, s, append(c.DialOptions(), grpc.WithChainStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc,
				cc *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
				if broken {
					bad()
				}
				return next(ctx, d, cc, method, opts...)
			}))...)
			func() {
				defer func() {
					v := recover()
					if p, ok := v.(*resilience.PanicError); name != "exits" && (!ok || p.Value != "ouch" ||
						!strings.Contains(p.Error(), "TestStreamerThatDoesNotReturn")) { // a crash shows where it was
						t.Errorf("%s: it panicked with %v", name, v)
					}
				}()
				if _, err := cc.NewStream(t.Context(), desc, downMethod); err == nil {
					t.Errorf("%s: no error", name)
				}
			}()
			if used(places) != 0 {
				t.Errorf("%s: a place is held", name)
			}
			broken = false
			st, err := down(t.Context(), cc, "m")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := all(st); err != nil || len(got) != 3 {
				t.Errorf("%s: the next stream gives %v, %v", name, got, err)
			}
		}
	})
}
