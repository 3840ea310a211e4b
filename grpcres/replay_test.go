package grpcres_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// failsFirst collects what is streamed; the first attempts fail before they have received anything.
func failsFirst(attempts int) func(int, grpc.ServerStream) error {
	return func(n int, s grpc.ServerStream) error {
		if n <= attempts {
			return errDown
		}
		return collect(0)(n, s)
	}
}

// uploading opens a stream of the client's, through a client that retries after a minute and remembers so many messages.
func uploading(ctx context.Context, t *testing.T, remembers, fails int, opts ...grpc.DialOption) (*server, grpc.ClientStream, *resiliencetest.Recorder) {
	t.Helper()
	cfg := streaming(idempotent, resilience.Retry{Backoff: resilience.Constant(time.Minute), MaxDelay: time.Minute})
	cfg.MaxReplay = remembers
	c, heard := client(t, cfg)
	s := serve(t, script{stream: failsFirst(fails)})
	st, err := connect(t, s, append(c.DialOptions(), opts...)...).NewStream(ctx, upDesc, upMethod)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return s, st, heard
}

// reply is what receiving came to.
type reply struct {
	got string
	err error
}

// receiving receives beside the test, and returns when it can go no further.
func receiving(st grpc.ClientStream) <-chan reply {
	to := make(chan reply, 1)
	go func() {
		got, err := receive(st)
		to <- reply{got, err}
	}()
	synctest.Wait()
	return to
}

// GRPC-02: between two attempts messages are kept, and who sends more than is remembered waits for the next.
func TestSenderWaitsForTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st, _ := uploading(t.Context(), t, 1, 1)
		answer := receiving(st)
		if err := sendText(st, "a"); err != nil {
			t.Fatal(err)
		}
		sent := make(chan error, 1)
		go func() { sent <- sendText(st, "b") }()
		synctest.Wait()
		if len(sent) != 0 {
			t.Errorf("with no attempt under way sending gives %v", <-sent)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := <-sent; err != nil {
			t.Error(err)
		}
		if err := st.CloseSend(); err != nil {
			t.Error(err)
		}
		if r := <-answer; r.err != nil || r.got != "a,b" {
			t.Errorf("got %q, %v", r.got, r.err)
		}
		s.served(t, 2)
	})
}

// GRPC-02: the wait ends with the stream.
func TestSenderThatWaitsHearsOfTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, st, _ := uploading(ctx, t, 1, 1)
		answer := receiving(st)
		_ = sendText(st, "a")
		sent := make(chan error, 1)
		go func() { sent <- sendText(st, "b") }()
		synctest.Wait()
		cancel()
		if err := <-sent; err != io.EOF {
			t.Errorf("sending gives %v", err)
		}
		if r := <-answer; status.Code(r.err) != codes.Canceled {
			t.Errorf("receiving gives %v", r.err)
		}
		if err := st.CloseSend(); err != nil {
			t.Errorf("closing gives %v", err)
		}
	})
}

// GRPC-02: what is sent on an attempt that has failed, and the end of the sending, are for the next one.
func TestWhatIsSentOnAFailedAttemptIsKept(t *testing.T) {
	for _, closes := range []string{"before", "between"} {
		bubble(t, closes, func(t *testing.T) {
			s, st, _ := uploading(t.Context(), t, 16, 1)
			if err := sendText(st, "a"); err != nil {
				t.Errorf("sending on what has failed gives %v", err)
			}
			var answer <-chan reply
			if closes == "between" {
				answer = receiving(st)
			}
			if err := st.CloseSend(); err != nil {
				t.Error(err)
			}
			if closes == "before" {
				answer = receiving(st)
			}
			if r := <-answer; r.err != nil || r.got != "a" {
				t.Errorf("got %q, %v", r.got, r.err)
			}
			s.served(t, 2)
		})
	}
}

// GRPC-02: an attempt that was sent more than is remembered is the last.
func TestStreamThatIsNotRememberedIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, heard := client(t, grpcres.Config{Layers: []resilience.Layer{thrice}, Idempotent: idempotent, MaxReplay: 1})
		s := serve(t, script{stream: func(_ int, ss grpc.ServerStream) error {
			for range 2 {
				receive(ss)
			}
			return errDown
		}})
		st, err := connect(t, s, c.DialOptions()...).NewStream(t.Context(), bothDesc, bothMethod)
		if err != nil {
			t.Fatal(err)
		}
		answer := receiving(st)
		for _, m := range []string{"a", "b"} {
			if err := sendText(st, m); err != nil {
				t.Error(err)
			}
		}
		if r := <-answer; status.Code(r.err) != codes.Unavailable {
			t.Errorf("got %v", r.err)
		}
		resiliencetest.Want(t, heard, events.RetryStopped{Reason: events.ReasonNotReplayable})
		s.served(t, 1)
	})
}
