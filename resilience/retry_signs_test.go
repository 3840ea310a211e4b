package resilience

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/stop"
)

// randomTree returns an error of errors, some of which tell a Retry something.
func randomTree(r *rand.Rand, depth int) error {
	leaves := []func() error{
		func() error { return errors.New("boom") },
		func() error { return ErrGoexit },
		func() error { return &BreakerOpenError{Name: "db", State: events.StateOpen} },
		func() error { return &LimitedError{Reason: events.ReasonFull, After: time.Duration(r.IntN(3))} },
		func() error { return &PanicError{Value: "oh"} },
	}
	if depth == 0 {
		return leaves[r.IntN(len(leaves))]()
	}
	inner := func() error { return randomTree(r, depth-1) }
	switch r.IntN(10) {
	case 0:
		return fmt.Errorf("call: %w", inner())
	case 1:
		return errors.Join(inner(), inner())
	case 2:
		return Permanent(inner())
	case 3:
		return &stop.Error{Err: inner(), Reason: events.ReasonNotReplayable}
	case 4:
		return RetryAfter(inner(), time.Second+time.Duration(r.IntN(9)))
	case 5:
		return &LimitedError{Reason: events.ReasonShed, Err: inner()}
	case 6:
		return &PanicError{Value: inner()}
	case 7:
		return &refusedRetry{inner(), inner()}
	case 8:
		return withoutMarks(fmt.Errorf("call: %w", errors.Join(&CanceledError{Err: inner(), Last: inner()}, inner())))
	default:
		return inner()
	}
}

// RET-04, RET-12, RET-15, PIPE-21: one walk finds in every tree what a search for each sign alone finds.
func TestOneWalkFindsEverySign(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		err := randomTree(r, r.IntN(5))
		want := signs{final: stopIn(err)}
		if _, panicked := find[*PanicError](err); panicked || anyIn(err, func(err error) bool { return err == ErrGoexit }) {
			want.final = events.ReasonNotRetryable
		}
		want.hint, _ = find[interface{ RetryAfter() time.Duration }](err)
		if refused, ok := refusalIn(err); ok {
			want.refusal = refused
		}
		if got := signsOf(err); got != want {
			t.Fatalf("%v: signs %+v, want %+v", err, got, want)
		}
	}
}
