package resilience

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
)

// AdaptiveLimiter is a [Gate] that limits how many calls run at once, and finds the limit itself: as many as the dependency
// serves without queueing them, by how long they take. Make one with [NewAdaptiveLimiter] and share it among what calls the
// same dependency. It is safe for concurrent use, and starts no goroutine but a short-lived one for changes of the limit
// that come while others are being published.
//
// The limit follows TCP Vegas in the form of Netflix's concurrency-limits: calls that take longer than calls did without a
// queue show a queue, and the limit falls until that is a twentieth of it (at least 0.6 calls); where there is none, and the
// limit is in use, it grows. What calls take without a queue is found, as in Envoy's adaptive concurrency filter, by having
// fewer of them for a moment: a quarter less, then as much less again as so far while that makes them quicker; at first
// often and then after every 64 rounds in use, and often again when calls take twice as long or the limit has fallen. A round
// measures the calls that begin in 100 ms, at least 50, or as many as the limit if that is more, and at most 250: when calls
// take longer, the limit falls in one or two rounds; it grows by half a round until it has met the first queue, then by a
// twentieth (at least 0.6 calls), and by half again when it has so become half as much again. If fewer calls take as long as
// more did, the dependency is slow by itself: the limit then falls no further, and recovers as that is confirmed.
//
// In a simulation with exponential and lognormal service times the limit's mean over the time, once it has settled, is
// within 20 % of the number of calls that the dependency works on at once if that is ten or more; below, it is up to one and
// a half calls more, since one call that waits keeps the dependency busy and only a queue can be measured. It spreads around
// that mean: now and then it is half of it for some rounds. Settling takes some tens of rounds, also after a dependency has
// lost four fifths of its capacity. It takes longest from an Initial far above the optimum, since a round lasts as long as its
// calls queue: from 800 before one worker that takes 20 ms a call, 100 s. Under a load that does not fill the limit it
// is not adapted downwards.
//
// Calls that time out lower the limit by their share, at most to half, if more than a tenth of those measured do; fewer
// count as calls that take long, so that a tail that there always is changes nothing. A dependency where more than a
// tenth time out whatever the load is thus gets Min. Calls that are turned away because of the load (see
// [AdaptiveLimiterConfig.OverloadIf]) lower it at most by a tenth a round. After a round with more than a tenth of
// either the limit does not grow for ten. The latency of other failures, and of calls that the caller gave up, does not
// count, and while there is nothing else the limit stays; that of a call that its caller's deadline ended counts as a
// timeout.
//
// It has no queue: waiting in one is what it is there to avoid. When not all can be served, calls of a lower [Priority] are
// shed first: those of PriorityLow run in four fifths of the limit, those of PrioritySheddable in half of it (but at least
// one), and those of PriorityCritical in a tenth more than it (at least one more, within Max).
//
// It belongs inside a Retry, as each attempt is a call: outside of one it would take the backoff for latency. In a pipeline
// that holds its values a call keeps its permit until the value's release, and its latency is what it took to
// return.
type AdaptiveLimiter struct {
	cfg     AdaptiveLimiterConfig // with defaults
	place   place
	permits permits

	wake    atomic.Int64 // when the machine wants to see a call
	expires atomic.Int64 // when the round's patience ends
	refused atomic.Bool  // a call has found the limit reached

	machine adaptation // permits.mu guards it
}

// NewAdaptiveLimiter makes a limiter. Its error is a *ConfigError, or several joined.
func NewAdaptiveLimiter(cfg AdaptiveLimiterConfig) (*AdaptiveLimiter, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	a := &AdaptiveLimiter{cfg: cfg, machine: newAdaptation(cfg.Initial, cfg.Min, cfg.Max, now())}
	a.permits.max.Store(int64(cfg.Initial))
	a.mirror()
	a.place = place{bus: cfg.Bus, name: cfg.Name, source: cfg.Bus.NewSource(events.SourceSpec{
		Layer: cfg.Name, Type: events.TypeAdaptiveLimiter, Settings: settingsLine(cfg.settings()), Limiter: a.Snapshot,
	})}
	return a, nil
}

// MustAdaptiveLimiter is NewAdaptiveLimiter, and panics with its error.
func MustAdaptiveLimiter(cfg AdaptiveLimiterConfig) *AdaptiveLimiter {
	return mustBe(NewAdaptiveLimiter(cfg))
}

// LayerInfo implements [Layer]. The present limit is in the Snapshot.
func (a *AdaptiveLimiter) LayerInfo() LayerInfo {
	return LayerInfo{Name: a.cfg.Name, Type: events.TypeAdaptiveLimiter, Settings: a.cfg.settings()}
}

func (a *AdaptiveLimiter) check() error {
	if a.place.bus == nil {
		return fmt.Errorf("is a %T that was not made by NewAdaptiveLimiter", a)
	}
	return nil
}

func (a *AdaptiveLimiter) stateSource() *events.Source { return a.place.source }

// Name returns the limiter's name.
func (a *AdaptiveLimiter) Name() string { return a.cfg.Name }

// Snapshot returns the present limit and how many calls run.
func (a *AdaptiveLimiter) Snapshot() events.LimiterReading { return a.permits.reading() }

// Admit implements [Gate]: it lets the call through, or refuses with a *LimitedError. It never waits.
func (a *AdaptiveLimiter) Admit(ctx context.Context, call Call) (Permit, error) {
	at := call.clock()
	if reason := a.take(ctx); reason != 0 {
		if reason == events.ReasonFull && !a.refused.Load() {
			a.refused.Store(true)
		}
		if passed(a.expires.Load(), at) {
			a.update(ctx, call, func(m *adaptation) bool { return m.look(at) })
		}
		return Permit{}, limited(a.cfg.Name, events.TypeAdaptiveLimiter, reason, a.Snapshot())
	}
	if !passed(a.wake.Load(), at) {
		return Permit{}, nil
	}
	return Permit{Token: a.begin(at), Start: at}, nil
}

// passed tells whether the clock has reached an instant, or is another clock than the instant's.
func passed(instant, at int64) bool {
	ahead := instant - at
	return ahead <= 0 || ahead > 3*longestRound
}

// take takes a permit out of the share of the call's priority, which nobody asks for while there is room for all; the reason
// is why it has none.
func (a *AdaptiveLimiter) take(ctx context.Context) events.Reason {
	if !prioritiesInUse.Load() {
		if a.permits.take() {
			return 0
		}
		return events.ReasonFull
	}
	limit := a.permits.max.Load()
	if a.permits.takeWithin(share(limit, PrioritySheddable)) {
		return 0
	}
	p := PriorityOf(ctx)
	switch {
	case a.permits.takeWithin(min(share(limit, p), int64(a.cfg.Max))):
		return 0
	case p < PriorityNormal && a.permits.running() < limit:
		return events.ReasonShed
	}
	return events.ReasonFull
}

// share returns how many calls may run for one of this priority to run, too.
func share(limit int64, p Priority) int64 {
	switch p {
	case PriorityCritical:
		return limit + max(limit/10, 1)
	case PriorityLow:
		return limit * 4 / 5 // a limit of one has room for it as for a sheddable one
	case PrioritySheddable:
		return max(limit/2, 1)
	default:
		return limit
	}
}

// inspect, as a Permit's Token, has the machine look at its round when the call ends.
const inspect = -1

// begin tells the machine of a call, and returns the Token of its permit.
func (a *AdaptiveLimiter) begin(at int64) int64 {
	a.permits.mu.Lock()
	defer a.permits.mu.Unlock()
	round := a.machine.begin(at, a.permits.running())
	a.mirror()
	if round == 0 {
		return inspect
	}
	return round
}

// Settle implements [Gate].
func (a *AdaptiveLimiter) Settle(ctx context.Context, call Call, permit Permit, outcome Outcome) {
	a.permits.leave()
	a.measured(ctx, call, permit, outcome)
}

// measured tells the machine how a call ended, if it wants to know.
func (a *AdaptiveLimiter) measured(ctx context.Context, call Call, permit Permit, outcome Outcome) {
	if permit.Token == 0 {
		return
	}
	at := now()
	if permit.Token == inspect {
		a.update(ctx, call, func(m *adaptation) bool { return m.look(at) })
		return
	}
	how := callUnknown // also if OverloadIf panics or ends the goroutine
	defer func() {
		a.update(ctx, call, func(m *adaptation) bool { return m.end(permit.Token, at, at-permit.Start, how) })
	}()
	how = a.judge(ctx, call, outcome)
}

// judge tells what a call's end says of the load.
func (a *AdaptiveLimiter) judge(ctx context.Context, call Call, outcome Outcome) callEnd {
	switch outcome.Kind {
	case Succeeded, Ignored:
		return callAnswered
	case Failed:
		switch err := outcome.Err; {
		case isTimeout(err):
			return callTimedOut
		case a.cfg.OverloadIf != nil:
			return a.ask(ctx, call, err)
		case isTurnedAway(err):
			return callTurnedAway
		}
	case Canceled:
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return callTimedOut
		}
	case Rejected, NotReturned:
	}
	return callUnknown
}

// ask asks OverloadIf.
func (a *AdaptiveLimiter) ask(ctx context.Context, call Call, err error) (how callEnd) {
	how = callUnknown
	defer a.place.recoverCallback(ctx, call, "AdaptiveLimiterConfig.OverloadIf")
	if a.cfg.OverloadIf(err) {
		how = callTurnedAway
	}
	return how
}

// update has the machine do something, and publishes the limit if it is another whole number than before.
func (a *AdaptiveLimiter) update(ctx context.Context, call Call, do func(*adaptation) (next bool)) {
	p, bus := &a.permits, a.place.bus
	p.mu.Lock()
	if a.refused.Swap(false) {
		a.machine.round.refused = true
	}
	if do(&a.machine) {
		limit := int64(a.machine.limit)
		if before := p.limit(limit); before != limit && bus.LimitChanged.Heard() {
			p.changes.add(ctx, bus, events.LimitChanged{Meta: a.place.meta(call),
				From: before, To: limit, Reason: events.ReasonAdapted})
		}
	}
	a.mirror()
	p.changes.unlock(&p.mu, bus)
}

// mirror tells those who take no lock when they are wanted. mu is held.
func (a *AdaptiveLimiter) mirror() {
	if wake := a.machine.wakes(); wake != a.wake.Load() {
		a.wake.Store(wake)
	}
	if expires := a.machine.round.began + a.machine.patience; expires != a.expires.Load() {
		a.expires.Store(expires)
	}
}

func (a *AdaptiveLimiter) waits() bool { return false }

// early is false: a value that lives on still uses what is limited.
func (a *AdaptiveLimiter) early(bool) bool { return false }

// String returns the limiter's name and how many calls run.
func (a *AdaptiveLimiter) String() string {
	s := a.Snapshot()
	return fmt.Sprintf("adaptive limiter %s (%d of %d)", a.cfg.Name, s.Usage, s.Limit)
}

// Run calls op if there is room: the limiter alone, without a pipeline. The error is op's, a *LimitedError, or a
// *CanceledError when ctx ended first.
func (a *AdaptiveLimiter) Run(ctx context.Context, op func(ctx context.Context) error) error {
	return runAlone(ctx, a, a.place, op)
}

// Acquire asks the limiter for one call in two steps: the caller releases the lease with how the call ended. The error is
// a *LimitedError, or a *CanceledError when ctx has ended. A lease that is never released takes a place for ever.
func (a *AdaptiveLimiter) Acquire(ctx context.Context) (*Lease, error) {
	return acquire(ctx, a, a.place)
}
