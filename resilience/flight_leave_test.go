package resilience_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// SFL-02, PIPE-15, PIPE-16, PITFALL 28: whoever leaves, the leader included, leaves alone and at once.
func TestACallersCancellationEndsItsWaitOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for leaver := range 3 {
			op, flights := &slow{value: 3}, joined()
			p := ints(events.Off(), flights)
			leaving, leave := context.WithCancelCause(t.Context())
			var answers []*answer
			for i := range 3 {
				ctx := t.Context()
				if i == leaver {
					ctx = leaving
				}
				answers = append(answers, burst(p, ctx, "a", 1, op.run)...)
			}
			began := time.Now()
			leave(errGone)
			synctest.Wait()
			left := answers[leaver]
			if !left.returned || resilience.KindOf(left.err) != resilience.KindCanceled || !errors.Is(left.err, errGone) || time.Since(began) != 0 {
				t.Errorf("who left got %+v after %v", left, time.Since(began))
			}
			time.Sleep(time.Second)
			synctest.Wait()
			for i, a := range answers {
				if i != leaver && (a.v != 3 || a.err != nil) {
					t.Errorf("caller %d left, caller %d got %+v", leaver, i, a)
				}
			}
			if op.runs.Load() != 1 {
				t.Errorf("%d runs", op.runs.Load())
			}
		}
	})
}

// SFL-02, PITFALL 28: the flight is cancelled when all have left, its key is free before, and its end leaves the next one alone.
func TestTheLastToLeaveCancelsTheFlightAndFreesItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, others := range []int{0, 1} { // under way before: the flights are kept in another place
			lastLeaves(t, others)
		}
	})
}

func lastLeaves(t *testing.T, others int) {
	flights := joined()
	p := ints(events.Off(), flights)
	for range others {
		burst(p, t.Context(), "other", 1, (&slow{delay: time.Hour}).run)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	var cause error
	free := -1
	stubborn := func(ctx context.Context) (int, error) { // it takes its time when it is cancelled
		<-ctx.Done()
		cause, free = context.Cause(ctx), flights.InFlight()
		time.Sleep(time.Second)
		return 0, ctx.Err()
	}
	old := burst(p, ctx, "a", 3, stubborn)
	cancel(errGone)
	synctest.Wait()
	for _, a := range old {
		if !a.returned || resilience.KindOf(a.err) != resilience.KindCanceled {
			t.Errorf("who left got %+v", a)
		}
	}
	if cause != errGone || free != others {
		t.Errorf("the operation was cancelled with %v, and %d keys were in flight, want %d", cause, free, others)
	}
	op := &slow{value: 5}
	time.Sleep(time.Second / 2)
	young := burst(p, t.Context(), "a", 1, op.run)
	time.Sleep(3 * time.Second / 4) // the old one has ended
	synctest.Wait()
	if flights.InFlight() != 1+others {
		t.Errorf("the end of the old flight: %v", flights)
	}
	young = append(young, burst(p, t.Context(), "a", 1, op.run)...)
	time.Sleep(time.Second)
	synctest.Wait()
	for _, a := range young {
		if a.v != 5 || a.err != nil || op.runs.Load() != 1 {
			t.Errorf("the newcomers got %+v of %d runs", a, op.runs.Load())
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// SFL-02: followers that leave change nothing for a leader that cannot.
func TestFollowersMayLeaveALeaderThatCannot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, op := ints(events.Off(), joined()), &slow{value: 3}
		led := burst(p, context.Background(), "a", 1, op.run)
		ctx, cancel := context.WithCancel(t.Context())
		followed := burst(p, ctx, "a", 2, op.run)
		cancel()
		synctest.Wait()
		for _, a := range followed {
			if !a.returned || resilience.KindOf(a.err) != resilience.KindCanceled {
				t.Errorf("a follower that left got %+v", a)
			}
		}
		followed = burst(p, t.Context(), "a", 2, op.run)
		later(time.Minute)
		for _, a := range append(led, followed...) {
			if a.v != 3 || a.err != nil || op.runs.Load() != 1 {
				t.Errorf("%+v of %d runs", a, op.runs.Load())
			}
		}
	})
}

// SFL-02, PIPE-15: a success that is there when the caller's context ends is kept.
func TestWhatHasLandedIsTakenAlsoByOneWhoWantedToLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 64 { // the choice is random where both are so
			bus := events.NewBus()
			ctx, cancel := context.WithCancel(t.Context())
			bus.FlightJoined.Subscribe(func(context.Context, events.FlightJoined) { time.Sleep(time.Second); cancel() })
			if v, err := ints(bus, joined()).DoKey(ctx, "a", returns(3, nil)); v != 3 || err != nil {
				t.Fatalf("%d, %v", v, err)
			}
		}
	})
}
