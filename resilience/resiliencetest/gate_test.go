package resiliencetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// room is a sound gate for two calls at once, whose parts can be broken. Callers that find no room wait if it is told so.
type room struct {
	mu        sync.Mutex
	used      int
	waiters   []chan struct{}
	settles   int
	named     int
	last      time.Time
	wait      bool
	breakages // what is broken
}

type breakages struct {
	info       func(*room) resilience.LayerInfo
	admit      func(r *room, ctx context.Context) (err error, decided bool)
	refuse     error
	settle     func(r *room, ctx context.Context, o resilience.Outcome) (decided bool)
	stayOnDone bool // a waiter does not look at its context
	keepOnDone bool // a waiter that leaves keeps its place
	letDoneIn  bool // a waiter whose context has ended is admitted when its turn comes
}

func (r *room) LayerInfo() resilience.LayerInfo {
	if r.info != nil {
		return r.info(r)
	}
	return resilience.LayerInfo{Name: "room"}
}

func (r *room) Admit(ctx context.Context, _ resilience.Call) (resilience.Permit, error) {
	if r.admit != nil {
		if err, decided := r.admit(r, ctx); decided {
			return resilience.Permit{}, err
		}
	}
	r.mu.Lock()
	if r.used < 2 {
		r.used++
		r.mu.Unlock()
		return resilience.Permit{}, nil
	}
	if !r.wait {
		r.mu.Unlock()
		if r.refuse != nil {
			return resilience.Permit{}, r.refuse
		}
		return resilience.Permit{}, resilience.Reject(events.ReasonFull, 0)
	}
	turn := make(chan struct{})
	r.waiters = append(r.waiters, turn)
	r.mu.Unlock()
	done := ctx.Done()
	if r.stayOnDone {
		done = nil
	}
	select {
	case <-turn:
	case <-done:
	}
	if r.letDoneIn {
		select {
		case <-turn:
			return resilience.Permit{}, nil
		default:
		}
	}
	if ctx.Err() == nil {
		return resilience.Permit{}, nil
	}
	if !r.keepOnDone {
		r.leave(turn)
	}
	return resilience.Permit{}, ctx.Err()
}

// leave ends a wait; if its turn has come already the permit goes on.
func (r *room) leave(turn chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, w := range r.waiters {
		if w == turn {
			r.waiters = append(r.waiters[:i], r.waiters[i+1:]...)
			return
		}
	}
	r.pass()
}

// pass gives a permit to the first who waits, or back. mu is held.
func (r *room) pass() {
	if len(r.waiters) == 0 {
		r.used--
		return
	}
	close(r.waiters[0])
	r.waiters = r.waiters[1:]
}

func (r *room) Settle(ctx context.Context, _ resilience.Call, _ resilience.Permit, o resilience.Outcome) {
	if r.settle != nil && r.settle(r, ctx, o) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
}

func runGateCheck(t *testing.T, name string, new func() resilience.Gate, options GateOptions) *fakeTB {
	found := &fakeTB{TB: t}
	for _, c := range gateChecks {
		if c.name == name {
			c.run(newGateKit(kit{t, found}, new, options))
			return found
		}
	}
	t.Fatalf("there is no check %q", name)
	return nil
}

func TestTheKitHasNothingToSayOfASoundGate(t *testing.T) {
	for _, wait := range []bool{false, true} {
		TestGate(t, func() resilience.Gate { return &room{wait: wait} }, GateOptions{Concurrent: 2})
	}
}

// PITFALL 24, 25, 27; PIPE-13, PIPE-26: one broken gate a promise.
func TestTheKitFindsBrokenGates(t *testing.T) {
	dropsOn := func(kind resilience.OutcomeKind) func(*room, context.Context, resilience.Outcome) bool {
		return func(_ *room, _ context.Context, o resilience.Outcome) bool { return o.Kind == kind }
	}
	tried := map[string]bool{}
	const outcomes, permits, done = "takes every outcome", "gets every permit back", "admits nobody whose context ended"
	for _, c := range []struct {
		what, check string
		says        string
		wait        bool
		broken      breakages
	}{
		{what: "another name each time", check: "describes itself the same way always", says: "LayerInfo changes",
			broken: breakages{info: func(r *room) resilience.LayerInfo {
				r.named++
				return resilience.LayerInfo{Name: fmt.Sprint("room", r.named)}
			}}},
		{what: "a name that cannot be a label", check: "describes itself the same way always", says: "does not fit a pipeline",
			broken: breakages{info: func(*room) resilience.LayerInfo { return resilience.LayerInfo{Name: "a\nb"} }}},
		{what: "refuses for no reason", check: "admits calls that succeed", says: "call 1 of 1000 is refused",
			broken: breakages{admit: func(*room, context.Context) (error, bool) { return resilience.Reject(events.ReasonFull, 0), true }}},
		{what: "panics at Admit", check: "admits calls that succeed", says: "the layer panicked: no",
			broken: breakages{admit: func(*room, context.Context) (error, bool) { panic("no") }}},
		{what: "an error of its own", check: "tells why it refuses", says: "use resilience.Reject", broken: breakages{refuse: errors.New("full")}},
		{what: "a living context's end", check: "tells why it refuses", says: "use resilience.Reject", broken: breakages{refuse: context.Canceled}},
		{what: "no reason", check: "tells why it refuses", says: "without a reason", broken: breakages{refuse: &resilience.LimitedError{}}},
		{what: "a hint in the past", check: "tells why it refuses", says: "come back in -1s", broken: breakages{refuse: &resilience.LimitedError{Reason: events.ReasonFull, After: -time.Second}}},
		{what: "has no limit", check: "tells why it refuses", says: "it admits a call where it should refuse",
			broken: breakages{admit: func(*room, context.Context) (error, bool) { return nil, true }}},
		{what: "panics on an outcome", check: outcomes, says: "the layer panicked: unknown",
			broken: breakages{settle: func(_ *room, _ context.Context, o resilience.Outcome) bool {
				if o.Kind == resilience.Ignored {
					panic("unknown")
				}
				return false
			}}},
		{what: "keeps the permit of a rejection", check: outcomes, says: "after a call that ended as rejected 1 permits are left of 2", broken: breakages{settle: dropsOn(resilience.Rejected)}},
		{what: "keeps the permit when the context has ended", check: outcomes, says: "1 permits are left",
			broken: breakages{settle: func(_ *room, ctx context.Context, _ resilience.Outcome) bool { return ctx.Err() != nil }}},
		{what: "keeps the permit of a failure", check: permits, says: "after a failure 0 permits are left", broken: breakages{settle: dropsOn(resilience.Failed)}},
		{what: "keeps the permit of a panic or Goexit", check: permits, says: "after a Goexit 0 permits are left", broken: breakages{settle: dropsOn(resilience.NotReturned)}},
		{what: "keeps the permit of a cancellation", check: permits, says: "after a cancellation 0 permits are left", broken: breakages{settle: dropsOn(resilience.Canceled)}},
		{what: "mints a permit at a panic", check: permits, says: "after a panic there is a permit more than 2",
			broken: breakages{settle: func(r *room, _ context.Context, o resilience.Outcome) bool {
				if o.Kind == resilience.NotReturned {
					r.used--
				}
				return false
			}}},
		{what: "a refusal takes a permit", check: permits, says: "after refusals 0 permits are left",
			broken: breakages{admit: func(r *room, _ context.Context) (error, bool) {
				r.mu.Lock()
				defer r.mu.Unlock()
				if r.used >= 2 {
					r.used++
					return resilience.Reject(events.ReasonFull, 0), true
				}
				return nil, false
			}}},
		{what: "waits on", check: done, says: "2 calls go on waiting", wait: true, broken: breakages{stayOnDone: true}},
		{what: "a place in the queue stays", check: done, says: "0 permits are left", wait: true, broken: breakages{keepOnDone: true}},
		{what: "lets in who has left", check: done, says: "were admitted whose context had ended", wait: true, broken: breakages{letDoneIn: true, stayOnDone: true}},
		{what: "leaves a goroutine", check: "leaves no goroutine", says: "goroutines are left when all calls have ended",
			broken: breakages{settle: func(*room, context.Context, resilience.Outcome) bool { go func() { select {} }(); return false }}},
		{what: "more at once than it may", check: "stands concurrent use", says: "calls ran at once, 2 may",
			broken: breakages{admit: func(*room, context.Context) (error, bool) { return nil, true }, settle: func(*room, context.Context, resilience.Outcome) bool { return true }}},
		{what: "loses a permit now and then", check: "stands concurrent use", says: "after concurrent calls",
			broken: breakages{settle: func(r *room, _ context.Context, _ resilience.Outcome) bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.settles++
				return r.settles == 5
			}}},
		{what: "goes by the wall clock of another bubble", check: "serves bubbles one after another", says: "in a bubble it lets no call through",
			broken: breakages{admit: func(r *room, _ context.Context) (error, bool) {
				r.mu.Lock()
				defer r.mu.Unlock()
				if time.Now().Before(r.last) {
					return resilience.Reject(events.ReasonRate, 0), true
				}
				r.last = time.Now()
				return nil, false
			}}},
		{what: "blocks for ever", check: outcomes, says: "stays blocked for ever",
			broken: breakages{settle: func(*room, context.Context, resilience.Outcome) bool { go func() { select {} }(); return false }}},
	} {
		found := runGateCheck(t, c.check, func() resilience.Gate { return &room{wait: c.wait, breakages: c.broken} }, GateOptions{Concurrent: 2})
		finds(t, c.what, c.says, found)
		tried[c.check] = true
	}
	for _, c := range gateChecks {
		if !tried[c.name] {
			t.Errorf("no broken gate shows that the kit checks that it %s", c.name)
		}
	}
}

func TestAGateThatRefusesMustBeTold(t *testing.T) {
	found := runGateCheck(t, "tells why it refuses", func() resilience.Gate { return &room{} },
		GateOptions{Refusing: func() resilience.Gate { return &room{} }})
	finds(t, "a gate that should refuse", "admits a call where it should refuse", found)
}
