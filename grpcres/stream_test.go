package grpcres_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// downStream answers with three messages; fails says after how many of them the nth stream fails, negative for never.
func downStream(fails ...int) func(int, grpc.ServerStream) error {
	return func(n int, s grpc.ServerStream) error {
		in, err := receive(s)
		if err != nil {
			return err
		}
		for i := range 3 {
			if n <= len(fails) && fails[n-1] == i {
				return errDown
			}
			if err := sendText(s, fmt.Sprint(in, i)); err != nil {
				return err
			}
		}
		return nil
	}
}

func streaming(known func(string) bool, all ...resilience.Layer) grpcres.Config {
	return grpcres.Config{Layers: all, Idempotent: known}
}

// GRPC-02: establishing is retried until the first message, with all that was sent.
func TestStreamIsEstablishedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{stream: downStream(0, 0)})
		c, heard := client(t, streaming(idempotent, thrice))
		st, err := down(t.Context(), connect(t, s, c.DialOptions()...), "m")
		if err != nil {
			t.Fatal(err)
		}
		got, err := all(st)
		if err != nil || !slices.Equal(got, []string{"m0", "m1", "m2"}) {
			t.Errorf("got %v, %v", got, err)
		}
		s.served(t, 3)
		resiliencetest.Want(t, heard, events.RetryScheduled{}, events.RetryScheduled{})
		if !slices.Equal(s.before, []string{"1", "2"}) {
			t.Errorf("the retries are numbered %v", s.before)
		}
	})
}

// GRPC-02: a stream of three messages that breaks after the first.
func TestStreamIsNeverRetriedAfterTheFirstMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{stream: downStream(1)})
		places := bulkhead()
		c, heard := client(t, streaming(idempotent, places, thrice))
		st, err := down(t.Context(), connect(t, s, c.DialOptions()...), "m")
		if err != nil {
			t.Fatal(err)
		}
		got, err := all(st)
		if status.Code(err) != codes.Unavailable || !slices.Equal(got, []string{"m0"}) {
			t.Errorf("got %v, %v", got, err)
		}
		s.served(t, 1)
		resiliencetest.WantNone[events.RetryScheduled](t, heard)
		if used(places) != 0 {
			t.Errorf("%d places held", used(places))
		}
	})
}

// GRPC-01, GRPC-02: what was sent is sent again only if that does no harm.
func TestStreamOfAMethodThatIsNotIdempotentIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{stream: downStream(0)})
		s.refuse = 1
		many := thrice
		many.MaxAttempts = 50
		c, heard := client(t, streaming(nil, many))
		st, err := down(t.Context(), connect(t, s, c.DialOptions()...), "m")
		if err != nil {
			t.Fatal(err) // the dial that failed was tried again
		}
		if _, err := receive(st); status.Code(err) != codes.Unavailable {
			t.Errorf("got %v", err)
		}
		if _, err := receive(st); status.Code(err) != codes.Unavailable {
			t.Errorf("and then %v", err)
		}
		if err := sendText(st, "late"); err != io.EOF {
			t.Errorf("sending on it gives %v", err)
		}
		s.served(t, 1)
		resiliencetest.Want(t, heard, events.RetryStopped{Reason: events.ReasonNotRetryable})
		if len(resiliencetest.Of[events.RetryScheduled](heard)) == 0 {
			t.Error("the dial that failed was not tried again")
		}
	})
}

// GRPC-01, GRPC-02
func TestStreamHeedsPushback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for value, calls := range map[string]int{"20": 2, "-1": 1} {
			s := serve(t, script{stream: func(n int, ss grpc.ServerStream) error {
				if n == 1 {
					ss.SetTrailer(metadata.Pairs("grpc-retry-pushback-ms", value))
				}
				return downStream(0)(n, ss)
			}})
			c, heard := client(t, streaming(idempotent, thrice))
			st, err := down(t.Context(), connect(t, s, c.DialOptions()...), "m")
			if err != nil {
				t.Fatal(err)
			}
			_, err = all(st)
			s.served(t, calls)
			if (err == nil) != (calls == 2) {
				t.Errorf("%s: got %v", value, err)
			}
			if calls == 2 {
				resiliencetest.Want(t, heard, events.RetryScheduled{Delay: 20 * time.Millisecond})
			}
			if md := st.Trailer()["grpc-retry-pushback-ms"]; (len(md) == 1) != (calls == 1) {
				t.Errorf("%s: the trailer has %v", value, md)
			}
		}
	})
}

// collect answers a client's stream with all that it got; the nth stream may fail before.
func collect(fails int) func(int, grpc.ServerStream) error {
	return func(n int, s grpc.ServerStream) error {
		if n <= fails {
			receive(s)
			return errDown
		}
		got, err := all(s)
		if err != nil {
			return err
		}
		return sendText(s, strings.Join(got, ","))
	}
}

// GRPC-02: a client's stream is sent again as far as it is remembered.
func TestWhatTheClientStreamedIsSentAgain(t *testing.T) {
	for name, c := range map[string]struct{ messages, remembered, calls int }{
		"few":      {3, 0, 3},
		"just":     {16, 0, 3},
		"too many": {17, 0, 1},
		"own":      {3, 2, 1},
		"nothing":  {1, -1, 1},
	} {
		bubble(t, name, func(t *testing.T) {
			places := bulkhead()
			s := serve(t, script{stream: collect(2)})
			cfg := streaming(idempotent, places, thrice)
			cfg.MaxReplay = c.remembered
			cl, _ := client(t, cfg)
			st, err := connect(t, s, cl.DialOptions()...).NewStream(t.Context(), upDesc, upMethod)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range c.messages {
				want = append(want, fmt.Sprint(i))
				if err := sendText(st, want[i]); err != nil && (err != io.EOF || c.calls > 1) {
					t.Fatal(err)
				}
			}
			if err := st.CloseSend(); err != nil {
				t.Fatal(err)
			}
			got, err := receive(st)
			s.served(t, c.calls)
			if c.calls == 1 {
				if status.Code(err) != codes.Unavailable {
					t.Errorf("got %q, %v", got, err)
				}
			} else if err != nil || got != strings.Join(want, ",") {
				t.Errorf("got %q, %v, want %v", got, err, want)
			}
			if used(places) != 0 {
				t.Error("the place is still held when there is no more to come")
			}
		})
	}
}

// pong answers each message.
func pong(n int, s grpc.ServerStream) error {
	for {
		in, err := receive(s)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 1 {
			return errDown
		}
		if err := sendText(s, in+"!"); err != nil {
			return err
		}
	}
}

// GRPC-02: both sides at once, from two goroutines, through a failed attempt.
func TestBothSidesStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{stream: pong})
		c, _ := client(t, streaming(idempotent, thrice))
		st, err := connect(t, s, c.DialOptions()...).NewStream(t.Context(), bothDesc, bothMethod)
		if err != nil {
			t.Fatal(err)
		}
		sent := make(chan error, 1)
		go func() {
			for i := range 10 {
				if err := sendText(st, fmt.Sprint(i)); err != nil {
					sent <- err
					return
				}
			}
			sent <- st.CloseSend()
		}()
		got, err := all(st)
		if err != nil || len(got) != 10 || got[0] != "0!" || got[9] != "9!" {
			t.Errorf("got %v, %v", got, err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
		s.served(t, 2)
	})
}

// GRPC-02: who has asked for the header has what this attempt says.
func TestHeaderIsThatOfTheOnlyAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{stream: func(n int, ss grpc.ServerStream) error {
			ss.SendHeader(metadata.Pairs("n", fmt.Sprint(n)))
			return downStream(0)(n, ss)
		}})
		c, heard := client(t, streaming(idempotent, thrice))
		st, err := down(t.Context(), connect(t, s, c.DialOptions()...), "m")
		if err != nil {
			t.Fatal(err)
		}
		if md, err := st.Header(); err != nil || !slices.Equal(md["n"], []string{"1"}) {
			t.Errorf("got %v, %v", md, err)
		}
		if _, err := receive(st); status.Code(err) != codes.Unavailable {
			t.Errorf("got %v", err)
		}
		s.served(t, 1)
		resiliencetest.WantNone[events.RetryScheduled](t, heard)
	})
}
