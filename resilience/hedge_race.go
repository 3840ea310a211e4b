package resilience

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
)

// errLost is the cause of the contexts of runs that lost. It makes gates, Timeouts and budgets take their end for what it
// is: nobody's failure.
var errLost = errors.New("resilience: another run of the hedge has answered")

// hedging is a Hedge at its place in a pipeline of T.
type hedging[T any] struct {
	Hedge // with defaults
	place
	next       Next[T]
	background *background
	discard    func(context.Context, Call, T)
	feeds      bool // it tells its Budget how the runs end
}

func newHedging[T any](b *builder[T], at place, h Hedge, next Next[T]) Next[T] {
	h = h.withDefaults()
	if h.If == nil {
		h.If = b.cfg.RetryIf
	}
	if h.MaxAttempts == 1 {
		return next
	}
	l := &hedging[T]{Hedge: h, place: at, next: next, background: b.background, discard: b.discard, feeds: b.feeds(at.position, h.Budget)}
	return l.run
}

// race is one call through a Hedge. Its runs report to the call's goroutine, which decides.
type race[T any] struct {
	*hedging[T]
	began, last int64 // when the first run was started, and the last
	delay       time.Duration
	denied      int       // hedges that were due and not started
	runs        *entry[T] // the last that was started
	initial     entry[T]
	first       *entry[T] // &initial; nil when its end is known
	n, judged   int       // runs that were started, and those whose end is known
	chosen      *entry[T] // whose outcome counts if no better comes
	final       bool      // no better is waited for
	refused     bool      // the last that ended was
	failures    []error   // refusals left out
	common      runs      // of a call that has no record

	news    chan struct{} // holds an element when a run has ended, or another is due
	over    atomic.Bool   // who comes now is late; changes under mu
	mu      sync.Mutex    // guards what follows, and entry.next; never held while a function of the user's or a handler runs
	gone    int           // runs that have ended; late ones have left nothing to be done
	arrived *entry[T]     // they await judgement, the first that came first
}

// entry is one run in a race.
type entry[T any] struct {
	caught[T]
	call   Call
	rec    record
	cancel context.CancelCauseFunc
	number int // of its first attempt
	kind   events.AttemptKind
	ended  int64     // when, if the delay is learned
	before *entry[T] // the run started before
	next   *entry[T] // the run that arrived after
}

// run runs a call: it waits for answers, for a hedge to be due, and for the end of the context.
func (l *hedging[T]) run(ctx context.Context, call Call, op Operation[T]) (T, error) {
	r := &race[T]{hedging: l, news: make(chan struct{}, 1), began: call.clock(), delay: l.firstDelay()}
	defer r.leave(ctx) // also if a handler, or If, ends the goroutine
	first := events.AttemptInitial
	if call.rec != nil {
		first = call.rec.next()
	}
	r.start(ctx, r.enter(&r.initial, call, first), op)
	timer := time.AfterFunc(r.delay, r.wake)
	defer timer.Stop()
	left := ctx.Done()
	for {
		select {
		case <-r.news:
		case <-left:
			left = nil
		}
		if r.decided(ctx, call) {
			return r.conclude(ctx, call)
		}
		idle, alive := r.judged == r.n, ctx.Err() == nil
		if !alive && (idle || !l.WaitLosers) {
			return r.giveUp(ctx, call)
		}
		if alive && r.n+r.denied < l.MaxAttempts && (!idle && r.wait() <= 0 || idle && !r.refused) {
			if r.hedge(ctx, call, op) {
				idle = false
			}
			if r.n+r.denied < l.MaxAttempts {
				timer.Reset(r.wait())
			} else {
				timer.Stop()
			}
		}
		if idle {
			return r.conclude(ctx, call)
		}
	}
}

// wait returns how long it is until the next run is due.
func (r *race[T]) wait() time.Duration {
	return dueAt(r.n+r.denied, r.delay) - time.Duration(now()-r.began)
}

// hedge starts another run, if OnHedge and the budget allow it.
func (r *race[T]) hedge(ctx context.Context, call Call, op Operation[T]) bool {
	if r.OnHedge != nil && !r.wanted(ctx, call) {
		r.denied++
		return false
	}
	if !r.Budget.take() {
		r.denied++
		if r.bus.HedgeDenied.Heard() {
			r.bus.HedgeDenied.Publish(ctx, events.HedgeDenied{Meta: call.meta(r.source, r.upcoming()), Reason: events.ReasonBudget})
		}
		return false
	}
	e := r.enter(new(entry[T]), call, events.AttemptHedge)
	if r.bus.HedgeStarted.Heard() {
		r.bus.HedgeStarted.Publish(ctx, events.HedgeStarted{Meta: call.meta(r.source, e.number), Delay: time.Duration(now() - r.last)})
	}
	r.start(ctx, e, op)
	return true
}

func (r *race[T]) wanted(ctx context.Context, call Call) (yes bool) {
	defer r.recoverCallback(ctx, call, "Hedge.OnHedge")
	return r.OnHedge(ctx)
}

// enter prepares a run.
func (r *race[T]) enter(e *entry[T], call Call, kind events.AttemptKind) *entry[T] {
	e.kind = kind
	e.call = call.fork(&e.rec)
	if call.rec == nil { // nobody outside asks for the numbers
		e.rec.common, e.call.rec = &r.common, &e.rec
	}
	e.rec.kind = kind
	e.number = e.rec.reserve()
	e.call.attempt = e.number
	return e
}

// upcoming returns the number of the next attempt, if no run starts one before.
func (r *race[T]) upcoming() int { return int(r.initial.rec.common.numbers.Load()) + 1 }

// start starts a run.
func (r *race[T]) start(ctx context.Context, e *entry[T], op Operation[T]) {
	inside, cancel := context.WithCancelCause(ctx)
	e.cancel = cancel
	e.before, r.runs = r.runs, e
	if r.n++; r.n == 1 {
		r.first, r.last = e, r.began
	} else {
		r.last = now()
	}
	r.background.began()
	go r.apart(inside, e, op)
}

// apart runs what is inside, on a goroutine of its own.
func (r *race[T]) apart(ctx context.Context, e *entry[T], op Operation[T]) {
	defer r.background.ended()
	defer r.arrive(ctx, e)
	if r.over.Load() {
		e.err = errLost // before it came to run
		return
	}
	e.run(ctx, e.call, op, r.next)
}

// arrive reports how a run ended, on its goroutine.
func (r *race[T]) arrive(ctx context.Context, e *entry[T]) {
	if r.Learn != nil {
		e.ended = now()
	}
	e.rec.giveBack()
	r.mu.Lock()
	late := r.over.Load()
	if !late {
		last := &r.arrived
		for *last != nil {
			last = &(*last).next
		}
		*last = e
		r.gone++
	}
	r.mu.Unlock()
	if !late {
		r.wake()
		return
	}
	defer r.end()
	e.forsaken(ctx, e.call, r.place, r.discard)
}

// end notes that a late run has left nothing to be done.
func (r *race[T]) end() {
	r.mu.Lock()
	r.gone++
	r.mu.Unlock()
	r.wake()
}

func (r *race[T]) wake() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}
