package console

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

const (
	closed = events.StateClosed
	open   = events.StateOpen
	half   = events.StateHalfOpen
)

func to(from, to events.State) events.BreakerStateChanged {
	return events.BreakerStateChanged{From: from, To: to}
}

func TestAShortStateIsSeen(t *testing.T) {
	h := newHistory(240*time.Second, 0)
	h.enter(to(closed, open), 100*time.Second+time.Millisecond)
	h.enter(to(open, closed), 100*time.Second+2*time.Millisecond)
	spans, _ := h.read(events.BreakerReading{State: closed}, 100*time.Second, 239*time.Second)
	want := []span{{0, 100, closed}, {100, 101, open}, {101, 240, closed}}
	if len(spans) != 3 || spans[0] != want[0] || spans[1] != want[1] || spans[2] != want[2] {
		t.Errorf("%v, want %v", spans, want)
	}
}

func TestWhatWasNotSeenIsLeftOut(t *testing.T) {
	h := newHistory(240*time.Second, 50*time.Second)
	h.enter(to(open, half), 60*time.Second)
	spans, _ := h.read(events.BreakerReading{State: half}, 60*time.Second, 100*time.Second)
	// Column 239 is second 100; the console knows the source since second 50, which is column 189.
	if want := []span{{189, 200, open}, {200, 240, half}}; len(spans) != 2 || spans[0] != want[0] || spans[1] != want[1] {
		t.Errorf("%v, want %v", spans, want)
	}
}

func TestAnOldStateIsForgotten(t *testing.T) {
	h := newHistory(240*time.Second, 0)
	h.enter(to(closed, open), 10*time.Second)
	h.enter(to(open, closed), 20*time.Second)
	for _, now := range []time.Duration{300 * time.Second, 30 * 24 * time.Hour} {
		spans, transitions := h.read(events.BreakerReading{State: closed}, 20*time.Second, now)
		if len(spans) != 1 || spans[0] != (span{0, 240, closed}) || len(transitions) != 2 {
			t.Errorf("after %v: %v, %v", now, spans, transitions)
		}
	}
}

// A breaker is half-open as soon as its cooldown has passed, which no transition tells before the next call.
func TestAPassedCooldownIsSeen(t *testing.T) {
	h := newHistory(240*time.Second, 0)
	h.enter(to(closed, open), 100*time.Second)
	spans, _ := h.read(events.BreakerReading{State: half}, 130*time.Second, 239*time.Second)
	if want := []span{{0, 100, closed}, {100, 131, open}, {131, 240, half}}; len(spans) != 3 || spans[1] != want[1] || spans[2] != want[2] {
		t.Errorf("%v, want %v", spans, want)
	}
}

// Whatever comes, a timeline is in order, without overlap, within its columns, and no transition is told twice.
func TestATimelineIsAlwaysWellFormed(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		h := newHistory(time.Minute, time.Duration(r.Int64N(int64(time.Minute))))
		now, state := h.until, closed
		for range r.IntN(400) {
			now += time.Duration(r.Int64N(int64(10*time.Second))) - time.Second // clocks of events may step
			next := events.States()[r.IntN(5)]
			h.enter(to(state, next), now)
			state = next
			if r.IntN(3) == 0 {
				spans, transitions := h.read(events.BreakerReading{State: state}, now-time.Duration(r.Int64N(int64(time.Hour))), now)
				last := 0
				for _, s := range spans {
					if s.From < last || s.To <= s.From || s.To > columns || s.State == 0 {
						t.Fatalf("seed %d: %v", seed, spans)
					}
					last = s.To
				}
				if len(transitions) > lastTransition {
					t.Fatalf("%d transitions are kept", len(transitions))
				}
			}
		}
	}
}

// The page may be drawn between a transition and the news of it.
func TestAStateIsReadBeforeItsTransitionIsTold(t *testing.T) {
	h := newHistory(240*time.Second, 0)
	h.read(events.BreakerReading{State: closed}, 0, 90*time.Second)
	h.read(events.BreakerReading{State: open}, 100*time.Second, 100*time.Second)
	h.enter(to(closed, open), 100*time.Second)
	spans, _ := h.read(events.BreakerReading{State: open}, 100*time.Second, 239*time.Second)
	if want := []span{{0, 100, closed}, {100, 240, open}}; len(spans) != 2 || spans[0] != want[0] || spans[1] != want[1] {
		t.Errorf("%v, want %v", spans, want)
	}
}
