package resilience

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
)

// joining is a Singleflight at its place in a pipeline of T. Its flights are its own: no other place joins them.
type joining[T any] struct {
	place
	*Singleflight
	next       Next[T]
	background *background
	discard    func(context.Context, Call, T)
	warned     atomic.Bool

	mu        sync.Mutex // guards what follows and the flights; never held while a function of the user's runs
	flights   flights[T]
	valueless flights[T] // those of Run: they have no value to share
}

func newJoining[T any](b *builder[T], at place, s *Singleflight, next Next[T]) Next[T] {
	l := &joining[T]{place: at, Singleflight: s, next: next, background: b.background, discard: b.discard}
	return func(ctx context.Context, call Call, op Operation[T]) (T, error) {
		key := call.key
		if s.cfg.Key != nil {
			key = l.ask(ctx, call)
		}
		if key == "" {
			l.warn(ctx, call)
			return next(ctx, call, op)
		}
		if ctx.Done() == nil && !call.holds() {
			if _, limited := ctx.Deadline(); !limited {
				return l.leadHere(ctx, call, key, op)
			}
		}
		return l.lead(ctx, call, key, op)
	}
}

// ask returns the key that the function finds; empty if it panics.
func (l *joining[T]) ask(ctx context.Context, call Call) (key string) {
	defer l.recoverCallback(ctx, call, "SingleflightConfig.Key")
	return l.cfg.Key(ctx)
}

// warn tells, once, that a call without a key is not joined.
func (l *joining[T]) warn(ctx context.Context, call Call) {
	if l.warned.Load() || !l.warned.CompareAndSwap(false, true) {
		return
	}
	l.bus.ConfigWarning.Publish(ctx, events.ConfigWarning{Meta: call.meta(l.source, call.Attempt()), Code: events.WarningEmptyKey,
		Message: "a call without a key reached a Singleflight, which joins by key: use DoKey, or set SingleflightConfig.Key"})
}

// leadHere is lead for a caller who never leaves: the run needs no other goroutine.
func (l *joining[T]) leadHere(ctx context.Context, call Call, key string, op Operation[T]) (v T, err error) {
	l.mu.Lock()
	if f := l.of(call.valueless).find(key); f != nil {
		return l.follow(ctx, call, op, f)
	}
	f := &flight[T]{aloft: aloft{Context: ctx}, key: key, valueless: call.valueless, waiting: 1}
	l.begin(f, call)
	returned := false
	defer func() {
		c := caught[T]{v: v, err: err}
		if !returned {
			c = broken[T](recover())
		}
		d := l.land(f, &call, &c)
		if d != nil {
			d.took(call, true)
		}
		if c.panic != nil {
			panic(c.panic)
		}
	}()
	l.tell(ctx, call, f, events.FlightLeader)
	v, err = l.next(f, call, op)
	returned = true
	return v, err
}

// lead starts the flight of the key, unless it is under way, and waits.
func (l *joining[T]) lead(ctx context.Context, call Call, key string, op Operation[T]) (v T, err error) {
	if ctx.Err() != nil {
		return v, canceled(ctx, nil)
	}
	l.mu.Lock()
	if f := l.of(call.valueless).find(key); f != nil {
		return l.follow(ctx, call, op, f)
	}
	inside, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // runs nothing of the user's
	f := &flight[T]{aloft: aloft{Context: inside}, cancel: cancel, key: key, valueless: call.valueless, waiting: 1, done: make(chan struct{})}
	l.begin(f, call)
	run := call.stale()
	if call.rec != nil {
		run = call.fork(new(record))
	}
	l.background.began()
	go l.fly(f, run, op)
	return l.wait(ctx, call, f, events.FlightLeader)
}

// fly runs what is inside, unless all have left before it began, on a goroutine of its own.
func (l *joining[T]) fly(f *flight[T], run Call, op Operation[T]) {
	defer l.background.ended()
	var c caught[T]
	defer func() { l.land(f, &run, &c) }()
	if run.holds() {
		defer l.letGo(f, &run, &c) // by itself: it may end the goroutine
	}
	if f.Err() != nil {
		c.err = canceled(f, nil)
		return
	}
	c.run(f, run, op, l.next)
}

// of returns the flights that a call may join.
func (l *joining[T]) of(valueless bool) *flights[T] {
	if valueless {
		return &l.valueless
	}
	return &l.flights
}

// begin makes a flight one that others find, and unlocks.
func (l *joining[T]) begin(f *flight[T], call Call) {
	if call.observed() {
		f.leader = call.rec.id
	}
	l.of(f.valueless).add(f)
	l.inFlight.Add(1)
	l.mu.Unlock()
}

// free makes a flight one that nobody finds any more. mu is held.
func (l *joining[T]) free(f *flight[T]) {
	if l.of(f.valueless).remove(f) {
		l.inFlight.Add(-1)
	}
}

// follow joins a flight; mu is held, and unlocked.
func (l *joining[T]) follow(ctx context.Context, call Call, op Operation[T], f *flight[T]) (T, error) {
	f.waiting++
	if f.done == nil {
		f.done = make(chan struct{})
	}
	l.mu.Unlock()
	if in := flightOf(ctx); in != nil {
		if !in.follow(&f.aloft) {
			l.quit(ctx, call, f)
			return l.next(ctx, call, op)
		}
		defer in.followed(&f.aloft)
	}
	return l.wait(ctx, call, f, events.FlightFollower)
}

// wait returns what the flight brings, or that ctx ended first.
func (l *joining[T]) wait(ctx context.Context, call Call, f *flight[T], role events.FlightRole) (v T, err error) {
	waiting := true
	defer func() {
		if waiting { // a handler ends the goroutine
			l.quit(ctx, call, f)
		}
	}()
	l.tell(ctx, call, f, role)
	select {
	case <-f.done:
	case <-ctx.Done():
		if l.left(ctx, f) {
			waiting = false
			return v, canceled(ctx, nil)
		}
	}
	waiting = false
	d := f.landing
	f.end()
	d.took(call, role == events.FlightLeader)
	if d.panic != nil {
		panic(d.panic)
	}
	return d.v, d.err
}

// left takes a caller out of the flight, and cancels it after the last; false if it has landed, and the caller has its part.
func (l *joining[T]) left(ctx context.Context, f *flight[T]) bool {
	l.mu.Lock()
	if f.landed {
		l.mu.Unlock()
		return false
	}
	f.waiting--
	last := f.waiting == 0
	if last {
		l.free(f) // first: nobody may join what is cancelled
	}
	l.mu.Unlock()
	if last {
		f.cancel(context.Cause(ctx)) // a Timeout outside has ended what is inside, as the layers there find by the cause
	}
	return true
}

// quit takes out a caller who will not have the outcome, also if the flight has landed.
func (l *joining[T]) quit(ctx context.Context, call Call, f *flight[T]) {
	if l.left(ctx, f) {
		return
	}
	f.end()
	if !delivers(f.landing.err) {
		return
	}
	if hold := f.landing.hold; hold != nil {
		defer hold.letGo(nil)
	}
	if f.landing.users.drop() {
		l.discard(ctx, call, f.landing.v)
	}
}

// land ends a flight. It returns what its callers share; nil if there is nobody but who runs it. The goroutine of a flight
// begins with a small stack: land and what it calls keep their frames small.
func (l *joining[T]) land(f *flight[T], run *Call, c *caught[T]) (d *landing[T]) {
	l.mu.Lock()
	l.free(f)
	f.landed = true
	if f.waiting > 0 && f.done != nil {
		d = f.shared(run.rec, c)
		f.landing = d
		close(f.done)
	}
	orphan := f.waiting == 0
	l.mu.Unlock()
	if orphan && delivers(c.err) {
		l.drop(f, run, c)
	}
	return d
}

// letGo releases what a flight holds, unless its value is held. The context is ended by those who have waited, whose
// stacks have room for it, or was by the last who left.
func (l *joining[T]) letGo(f *flight[T], run *Call, c *caught[T]) {
	if delivers(c.err) {
		run.onRelease(onlyEnds(func() { f.cancel(nil) }))
		return
	}
	defer l.recoverCallback(f, *run, "Gate.Settle")
	run.release(0, c.late())
}

// drop gets rid of a value that nobody waits for.
func (l *joining[T]) drop(f *flight[T], run *Call, c *caught[T]) {
	defer l.recoverCallback(f, *run, "Gate.Settle")
	defer run.release(0, nil)
	l.discard(f, *run, c.v)
}

// tell publishes that a call is part of the flight.
func (l *joining[T]) tell(ctx context.Context, call Call, f *flight[T], role events.FlightRole) {
	if !l.bus.FlightJoined.Heard() {
		return
	}
	e := events.FlightJoined{Meta: call.meta(l.source, call.Attempt()), Role: role, Leader: f.leader}
	if role == events.FlightFollower {
		e.LeaderContext = context.WithoutCancel(f.Context)
	}
	l.bus.FlightJoined.Publish(ctx, e)
}
