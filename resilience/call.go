package resilience

import (
	"context"
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

// Attempt returns the number of the attempt that a Retry further out has started, 1 if there is none. A Retry further
// in may start more.
func (c Call) Attempt() int { return c.attempt }

// observed tells whether somebody listens to what happens in the call.
func (c Call) observed() bool { return c.rec != nil && c.rec.heard }

// ran returns how many times the operation has run, as far as the call knows better than its Retry, which counts turns.
func (c Call) ran(turn int) int {
	if c.rec != nil && c.rec.runs > 0 {
		return c.rec.runs
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
// than one layer. One goroutine at a time writes it.
type record struct {
	heard   bool
	nested  bool
	key     string
	id      uint64
	began   time.Time // the wall clock at beganAt
	beganAt int64

	runs                     int // of the operation
	delay                    time.Duration
	working, backoff, queued time.Duration
	// reason and decider tell what decided the last attempt; they count when the call does not succeed.
	reason  events.Reason
	decider *events.Source

	held holding
}

var lastExecution atomic.Uint64

// start makes the record of an observed call.
func (r *record) start(ctx context.Context, key string) {
	r.heard = true
	r.nested = events.Nested(ctx)
	r.key = key
	r.id = lastExecution.Add(1)
	r.began = time.Now()
	r.beganAt = now()
}

func (r *record) meta(source *events.Source, attempt int, at int64) events.Meta {
	return events.Meta{
		Source: source, Key: r.key, Execution: r.id, Attempt: attempt, Nested: r.nested,
		At: r.began.Add(time.Duration(at - r.beganAt)),
	}
}

// run begins another run of the operation and returns its number.
func (r *record) run() int {
	r.runs++
	r.reason, r.decider = 0, nil
	return r.runs
}

// decide notes what decided the attempt.
func (c Call) decide(reason events.Reason, by *events.Source) {
	if c.observed() {
		c.rec.reason, c.rec.decider = reason, by
	}
}

// attemptKey finds the number of the attempt in the operation's context.
type attemptKey struct{}

// attemptContext has the number of an attempt after the first, for as long as the attempt runs.
type attemptContext struct {
	context.Context
	number atomic.Int64 // 0: it has ended
}

func numberedContext(ctx context.Context, number int) *attemptContext {
	numbersRunning.Add(1)
	c := &attemptContext{Context: ctx}
	c.number.Store(int64(number))
	return c
}

func (c *attemptContext) end() {
	c.number.Store(0)
	numbersRunning.Add(-1)
}

func (c *attemptContext) Value(key any) any {
	if _, ok := key.(attemptKey); ok {
		if n := c.number.Load(); n > 0 {
			return int(n)
		}
	}
	return c.Context.Value(key)
}

// AttemptNumber returns the 1-based number of the attempt that runs with this context, counted over the whole call;
// 1 outside of a pipeline, and when the attempt has ended.
func AttemptNumber(ctx context.Context) int {
	if n, ok := ctx.Value(attemptKey{}).(int); ok {
		return n
	}
	return 1
}

// numbersRunning counts the attempts that run at present, in the whole process, with a number in their context: only
// while there is one can a context have a number, so that the first attempts of all other calls need not look for it.
var numbersRunning atomic.Int64
