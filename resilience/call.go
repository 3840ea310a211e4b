package resilience

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
)

// Call is what a pipeline hands from layer to layer about one call, by value.
type Call struct {
	key     string
	rec     *record
	now     int64 // a reading of the clock that no wait has made old; meaningful while timed
	attempt int
	timed   bool
	// valueless: the operation returns no value (Run), so there is none to classify.
	valueless bool
	// renumber: the caller's context has the attempt number of a pipeline outside, which the operation must not see.
	renumber bool
}

// Key returns the key given to DoKey, empty if there was none.
func (c Call) Key() string { return c.key }

// Attempt returns the number of the attempt that a Retry or a Hedge further out has started, 1 if there is none. One
// further in may start more.
func (c Call) Attempt() int { return c.attempt }

// observed tells whether somebody listens to what happens in the call.
func (c Call) observed() bool { return c.rec != nil && c.rec.execution != nil }

// ran returns the number of the last attempt, as far as the call knows better than its Retry, which counts turns.
func (c Call) ran(turn int) int {
	if c.rec != nil && c.rec.number > 0 {
		return c.rec.number
	}
	return turn
}

// stale returns the call after a layer that may have waited.
func (c Call) stale() Call {
	c.timed = false
	return c
}

// fresh returns the call with a reading of the clock.
func (c Call) fresh() Call {
	c.now, c.timed = c.clock(), true
	return c
}

// clock returns the call's reading of the clock, or a new one if it is stale.
func (c Call) clock() int64 {
	if c.timed {
		return c.now
	}
	return now()
}

// meta returns what an event of the call, told by source, carries.
func (c Call) meta(source *events.Source, attempt int) events.Meta {
	if !c.observed() {
		return events.Meta{Source: source, Key: c.key, Attempt: attempt, At: time.Now()}
	}
	m := c.rec.meta(source, attempt, now())
	m.Key = c.key // a Keyed tells its own
	return m
}

// record is what is kept of a call that is observed, whose values are held, or whose attempts are counted by more
// than one layer. One goroutine at a time writes it: a run beside others has a record of its own, see fork.
type record struct {
	*execution // nil if nobody listens

	number   int                // of the last run of the operation
	ended    int64              // when it ended
	kind     events.AttemptKind // of the next; 0 for the first
	reserved int                // the number of the next, if that is settled
	common   *runs              // nil while nothing has run beside: then there were as many runs as number says
	own      runs               // shared by the forks of a record that is none
	delay    time.Duration

	working, backoff, queued time.Duration
	decision

	held   *holding // nil unless the call returns a value that is held
	shared *users   // who has the value that a Singleflight returned last; nil if nobody else does
}

// execution is what the events of an observed call tell of it. It does not change, and all forks share it.
type execution struct {
	nested  bool
	key     string
	id      uint64
	began   time.Time // the wall clock at beganAt
	beganAt int64
}

// decision is what decided a call.
type decision struct {
	// reason and decider tell what decided the last attempt; they count when the call does not succeed.
	reason  events.Reason
	decider *events.Source
	// fallback is whose answer the call has, nil if it has none of a Fallback.
	fallback *events.Source
}

var lastExecution atomic.Uint64

// newRecord returns the record of a call, observed if it is heard.
func newRecord(ctx context.Context, key string, heard bool) *record {
	if !heard {
		return new(record)
	}
	r := new(observedRecord)
	r.start(ctx, key)
	return &r.record
}

// observedRecord is the record of an observed call, allocated at once.
type observedRecord struct {
	record
	room execution
}

// records are those that calls borrow, of pipelines that lend them.
var records = sync.Pool{New: func() any { return new(observedRecord) }}

func (r *observedRecord) start(ctx context.Context, key string) {
	at := now()
	r.room = execution{nested: events.Nested(ctx), key: key, id: lastExecution.Add(1), began: timeAt(at), beganAt: at}
	r.execution = &r.room
}

func (e *execution) meta(source *events.Source, attempt int, at int64) events.Meta {
	return events.Meta{
		Source: source, Key: e.key, Execution: e.id, Attempt: attempt, Nested: e.nested,
		At: e.began.Add(time.Duration(at - e.beganAt)),
	}
}

// run begins another run of the operation.
func (r *record) run() (number int, kind events.AttemptKind) {
	if r.common == nil {
		r.number++
	} else {
		r.number = r.take()
		r.common.begun.Add(1)
	}
	kind, r.kind = r.next(), events.AttemptRetry
	r.reason, r.decider = 0, nil
	return r.number, kind
}

// runs returns how many times the operation has run in the whole call.
func (r *record) runs() int {
	if r.common == nil {
		return r.number
	}
	return int(r.common.begun.Load())
}

// decide notes what decided the attempt.
func (c Call) decide(reason events.Reason, by *events.Source) {
	if c.observed() {
		c.rec.reason, c.rec.decider = reason, by
	}
}

// attemptKey finds the attempt that a context is of: an *attemptContext.
type attemptKey struct{}

// attemptContext has the number of an attempt after the first.
type attemptContext struct {
	context.Context
	number  int
	retries *events.Source // the pipeline whose attempt it is; nil if that has no Retry
}

func numberedContext(ctx context.Context, number int, retries *events.Source) *attemptContext {
	if !numbered.Load() {
		numbered.Store(true)
	}
	return &attemptContext{ctx, number, retries}
}

func (c *attemptContext) Value(key any) any {
	if _, ok := key.(attemptKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// AttemptNumber returns the 1-based number of the attempt that ctx is of, counted over the whole call; 1 outside of a
// pipeline.
func AttemptNumber(ctx context.Context) int {
	if ctx == nil {
		return 1
	}
	if c, ok := ctx.Value(attemptKey{}).(*attemptContext); ok {
		return c.number
	}
	return 1
}

// numbered tells whether there has been an attempt after the first, in the whole process: until then no context has a
// number, and first attempts need not look for one.
var numbered atomic.Bool
