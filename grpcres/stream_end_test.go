package grpcres_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// without drops the options by which a channel tells how a stream ends, and keeps the contexts of the attempts.
func without(attempts *[]context.Context) grpc.DialOption {
	return grpc.WithChainStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string,
		next grpc.Streamer, _ ...grpc.CallOption) (grpc.ClientStream, error) {
		*attempts = append(*attempts, ctx)
		return next(ctx, d, cc, method)
	})
}

// GRPC-02: the end that the caller receives is enough to let go, whether it comes at first or later, and ends the contexts.
func TestStreamEndsWithWhatIsReceived(t *testing.T) {
	for name, c := range map[string]struct {
		desc  *grpc.StreamDesc
		does  func(int, grpc.ServerStream) error
		code  codes.Code
		state events.State
	}{
		"to its end": {downDesc, downStream(), codes.OK, events.StateClosed}, "a unary reply": {upDesc, collect(0), codes.OK, events.StateClosed},
		"no message": {downDesc, func(int, grpc.ServerStream) error { return nil }, codes.OK, events.StateClosed},
		"breaks":     {downDesc, downStream(2), codes.Unavailable, events.StateOpen},
	} {
		bubble(t, name, func(t *testing.T) {
			places := bulkhead()
			breaker := resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Bus: events.NewBus()})
			cfg := streaming(idempotent, places, thrice, breaker)
			cfg.FailureIf = func(error) bool { return true }
			cl, _ := client(t, cfg)
			s := serve(t, script{stream: c.does})
			var attempts []context.Context
			cc := connect(t, s, append(cl.DialOptions(), without(&attempts))...)
			st, err := cc.NewStream(t.Context(), c.desc, "/test.Echo/"+c.desc.StreamName)
			if err != nil {
				t.Fatal(err)
			}
			if err := sendText(st, "m"); err != nil {
				t.Fatal(err)
			}
			if err := st.CloseSend(); err != nil {
				t.Fatal(err)
			}
			if _, err = receive(st); !c.desc.ClientStreams && err == nil {
				_, err = all(st)
			}
			if err == io.EOF {
				err = nil
			}
			if status.Code(err) != c.code || used(places) != 0 || breaker.State() != c.state {
				t.Errorf("got %v, %d places are held, the breaker is %v", err, used(places), breaker.State())
			}
			s.served(t, 1)
			if attempts[0].Err() == nil {
				t.Error("the attempt's context goes on")
			}
		})
	}
}

// GRPC-02: an attempt that failed has its context ended.
func TestFailedAttemptsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := client(t, streaming(idempotent, thrice))
		var attempts []context.Context
		cc := connect(t, serve(t, script{stream: downStream(0)}), append(c.DialOptions(), without(&attempts))...)
		st, err := down(t.Context(), cc, "m")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := receive(st); err != nil || len(attempts) != 2 || attempts[0].Err() == nil || attempts[1].Err() != nil {
			t.Errorf("got %v, contexts %v", err, attempts)
		}
		if p, ok := peer.FromContext(st.Context()); !ok || p.Addr == nil { // from the first message on it is the stream's
			t.Errorf("the stream's context knows of no peer: %v", st.Context())
		}
		all(st)
	})
}

// GRPC-02: when the attempt's limit is lifted the total goes on, and is named.
func TestTotalOfAStreamWhoseAttemptWasInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := client(t, streaming(idempotent, resilience.Timeout{Name: "total", After: time.Minute}, thrice,
			resilience.Timeout{Name: "attempt", After: time.Second}))
		st, err := down(t.Context(), connect(t, serve(t, script{stream: endless}), c.DialOptions()...), "m")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = all(st)
		var limit *resilience.TimeoutError
		if took := time.Since(began); !errors.As(err, &limit) || limit.Layer != "total" || status.Code(err) != codes.DeadlineExceeded || took != time.Minute {
			t.Errorf("got %v after %v", err, took)
		}
	})
}

// GRPC-02: who has the header has a stream: an attempt's limit is for what comes before.
func TestHeaderEstablishesAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := client(t, streaming(idempotent, thrice, resilience.Timeout{Name: "attempt", After: time.Second}))
		s := serve(t, script{stream: func(n int, ss grpc.ServerStream) error {
			ss.SendHeader(metadata.Pairs("n", "1"))
			time.Sleep(time.Minute)
			return downStream()(n, ss)
		}})
		st, err := down(t.Context(), connect(t, s, c.DialOptions()...), "m")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Header(); err != nil {
			t.Fatal(err)
		}
		if got, err := all(st); err != nil || len(got) != 3 {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// PIPE-13: a layer of the user's that panics after the first message, or answers with no stream, leaves nothing.
func TestLayersThatSpoilAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := bulkhead()
		c, _ := client(t, streaming(idempotent, places, resilience.Around("own", func(ctx context.Context, next func(context.Context) error) error {
			if err := next(ctx); err != nil {
				return err
			}
			panic((*resilience.PanicError)(nil))
		}), thrice))
		st, err := down(t.Context(), connect(t, serve(t, script{stream: downStream()}), c.DialOptions()...), "m")
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if v, ok := recover().(*resilience.PanicError); !ok || v == nil || len(v.Stack) == 0 {
					t.Errorf("receiving panics with %v", v)
				}
			}()
			_, err := receive(st)
			t.Errorf("receiving gives %v", err)
		}()
		if n := used(places); n != 0 {
			t.Errorf("%d places are held", n)
		}
		c, _ = client(t, layers(resilience.FallbackTo(func(context.Context, any, error) (any, error) { return 7, nil })))
		if st, err := c.Stream(t.Context(), downDesc, nil, downMethod, func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string,
			...grpc.CallOption) (grpc.ClientStream, error) {
			return nil, errDown
		}); st != nil || err == nil {
			t.Errorf("got %v, %v", st, err)
		}
	})
}
