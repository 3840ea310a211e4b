package resilience

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"
)

// rating is a rate with what was taken of it.
type rating struct {
	rule  gcra
	tat   atomic.Int64 // see gcra: all there is to know of the past; retired once another rating has taken over
	rate  int
	per   time.Duration
	burst int
}

// retired is no reading of a clock: the TAT of a rating of which nothing can be taken any more.
const retired = math.MinInt64

// takeAtOnce takes a part that is there; false if there is none, or if that is not plain.
func (r *rating) takeAtOnce(at int64) bool {
	tat := r.tat.Load()
	ahead := tat - at
	if ahead > r.rule.capacity-r.rule.interval || tat == retired {
		return false
	}
	return r.tat.CompareAndSwap(tat, at+max(ahead, 0)+r.rule.interval)
}

// inLine is a call that waits for its turn.
type inLine struct {
	turn    int64         // when it may go
	latest  int64         // when it has to at the latest
	next    int64         // the TAT that it made
	refused time.Duration // how much too late its turn would be, at another rate than when it came; 0: it still waits
	retimed chan struct{} // has one element when its turn has changed
}

// takeAndWait takes what is not there yet, and waits for it; not taken if another call came in between.
func (l *RateLimiter) takeAndWait(ctx context.Context, r *rating, tat, next, at int64, wait time.Duration) (taken bool, err error) {
	w := &inLine{turn: at + int64(wait), latest: at + l.patience(ctx), next: next, retimed: make(chan struct{}, 1)}
	if !l.queueUp(r, tat, w) {
		return false, nil
	}
	left := false
	defer func() {
		if !left {
			l.stepOut(w, true) // the context's methods end the goroutine
		}
	}()
	for wait > 0 {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			wait = 0
		case <-ctx.Done():
			wait = 0
		case <-w.retimed:
			wait = l.rest(w)
		}
		timer.Stop()
	}
	err = ctx.Err()
	refused := l.stepOut(w, err != nil)
	left = true
	if err == nil && refused > 0 {
		err = l.limited(l.rating.Load(), refused)
	}
	return true, err
}

// queueUp takes a part in the rating, and a place in the line. All who do hold mu, so that the line has the order of the
// parts.
func (l *RateLimiter) queueUp(r *rating, tat int64, w *inLine) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting.Add(1) // before others can see what it takes
	if !r.tat.CompareAndSwap(tat, w.next) {
		l.waiting.Add(-1)
		return false
	}
	l.line = append(l.line, w)
	return true
}

// rest returns how long the call still waits.
func (l *RateLimiter) rest(w *inLine) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.refused > 0 {
		return 0
	}
	return time.Duration(w.turn - now())
}

// stepOut leaves the line, because of the turn or before it, and tells whether another rate has taken the turn away.
func (l *RateLimiter) stepOut(w *inLine, unused bool) (refused time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch i := slices.Index(l.line, w); {
	case len(l.line) == 1:
		l.line = nil
	case i == 0:
		l.line[0] = nil
		l.line = l.line[1:]
	default:
		l.line = slices.Delete(l.line, i, i+1)
	}
	if unused && w.refused == 0 {
		r := l.rating.Load()
		r.tat.CompareAndSwap(w.next, r.rule.giveBack(w.next)) // unless somebody has taken after it
	}
	l.waiting.Add(-1)
	return w.refused
}

// retime gives all who wait their turns at another rate, in the order in which they came, as if they had come now and had
// waited for as long as they did; those who cannot wait for theirs are refused. It returns the TAT that follows, of which
// what is taken stays taken. mu is held, and nobody can take.
func (l *RateLimiter) retime(old, fresh *rating, tat, at int64) int64 {
	waiting := slices.Clone(l.line)
	waiting = slices.DeleteFunc(waiting, func(w *inLine) bool { return w.turn <= at || w.refused > 0 })
	if len(waiting) > 0 {
		tat = old.rule.giveBack(waiting[0].next)
	}
	tat = at + old.rule.convert(old.rule.ahead(tat, at, true), fresh.rule)
	for _, w := range waiting {
		next, wait := fresh.rule.take(tat, at, true)
		if at+wait > w.latest {
			w.refused = time.Duration(wait)
		} else {
			tat, w.next, w.turn = next, next, at+wait
		}
		select {
		case w.retimed <- struct{}{}:
		default: // it has not seen the last change yet
		}
	}
	return tat
}
