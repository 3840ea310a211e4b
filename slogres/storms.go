package slogres

import (
	"cmp"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
)

const (
	defaultBurst  = 10
	defaultPeriod = 10 * time.Second
	// maxStorms bounds the kinds of records that are told apart at a time; those beyond it are told apart by their event
	// alone.
	maxStorms = 1000
)

// storms bounds how many records identical events become: in each period the first few of a kind are written at once, and
// what comes then is counted. When the period is over the count is told by one record, at the next event of whatever kind,
// or at detach: there is neither a goroutine nor a timer.
type storms struct {
	burst  int
	period time.Duration
	due    atomic.Int64 // when the first count is to be told, in Unix nanoseconds; 0: there is none

	mu    sync.Mutex // guards what follows; not held while a handler runs
	kinds map[kind]*storm
}

// kind is what identical events have in common.
type kind struct {
	event, message, pipeline, layer, detail, errorType string
	level                                              slog.Level
}

// storm is one kind in one period.
type storm struct {
	began    time.Time
	written  int
	withheld int64
	summary  slog.Record // that of the first event that was withheld; without the count
	last     time.Time   // when the last one was
	zero     events.Event
}

// summary is a record that stands for events which have none of their own.
type summary struct {
	record slog.Record
	zero   events.Event // what a panic of the handler is put on: an event of their type that holds nothing
}

// newStorms returns nil where there is no bound.
func newStorms(cfg Config) *storms {
	if cfg.Burst < 0 {
		return nil
	}
	return &storms{burst: cmp.Or(cfg.Burst, defaultBurst), period: cmp.Or(cfg.Period, defaultPeriod), kinds: map[kind]*storm{}}
}

// withholds counts an event in and tells whether it gets no record of its own. record makes the one that will stand for it
// and those after it.
func (s *storms) withholds(level slog.Level, e events.Event, record func() slog.Record) (over []summary, withheld bool) {
	at := timeOf(e.Header().At)
	k := kindOf(level, e)
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.kinds[k]
	if w == nil {
		k, over = s.room(k, at)
		if w = s.kinds[k]; w == nil {
			w = new(storm)
			s.kinds[k] = w
		}
	}
	if at.Sub(w.began) >= s.period {
		over = w.end(over)
		*w = storm{began: at, zero: reflect.Zero(reflect.TypeOf(e)).Interface().(events.Event)}
	}
	if w.written < s.burst {
		w.written++
		return over, false
	}
	if w.withheld == 0 {
		w.summary = record()
		if due := w.began.Add(s.period).UnixNano(); s.due.Load() == 0 || due < s.due.Load() {
			s.due.Store(due)
		}
	}
	w.withheld++
	w.last = at
	return over, true
}

// room makes room for another kind: those whose period is over go. If there is none it returns the kind of all events of
// this type.
func (s *storms) room(k kind, at time.Time) (kind, []summary) {
	if len(s.kinds) < maxStorms {
		return k, nil
	}
	var over []summary
	for known, w := range s.kinds {
		if at.Sub(w.began) >= s.period {
			over = w.end(over)
			delete(s.kinds, known)
		}
	}
	if len(s.kinds) >= maxStorms {
		k = kind{event: k.event, level: k.level}
	}
	return k, over
}

// end appends the record that stands for what was withheld, if anything was.
func (w *storm) end(over []summary) []summary {
	if w.withheld == 0 {
		return over
	}
	r := w.summary
	r.Time = w.last
	r.AddAttrs(slog.Int64(KeyStandsFor, w.withheld))
	w.withheld = 0
	return append(over, summary{r, w.zero})
}

// isDue tells whether a count is to be told at the time of an event: one atomic load where nothing was withheld.
func (s *storms) isDue(at time.Time) bool {
	due := s.due.Load()
	return due != 0 && timeOf(at).UnixNano() >= due
}

// over ends the periods that are over at a time, or all of them, and returns what is to be told.
func (s *storms) over(at time.Time, all bool) (over []summary) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var next int64
	for known, w := range s.kinds {
		if all || at.Sub(w.began) >= s.period {
			over = w.end(over)
			delete(s.kinds, known)
		} else if due := w.began.Add(s.period).UnixNano(); w.withheld > 0 && (next == 0 || due < next) {
			next = due
		}
	}
	s.due.Store(next)
	return over
}

// timeOf returns an event's time, which only one that was made by hand lacks.
func timeOf(at time.Time) time.Time {
	if at.IsZero() {
		return time.Now()
	}
	return at
}

func kindOf(level slog.Level, e events.Event) kind {
	k := kind{event: e.EventName(), message: message(e), detail: detail(e), errorType: events.ErrorType(events.ErrorOf(e)), level: level}
	if s := e.Header().Source; s != nil {
		k.pipeline, k.layer = s.Pipeline(), s.Layer()
	}
	return k
}

// detail is what else tells events of one sentence apart.
func detail(e events.Event) string {
	switch e := e.(type) {
	case events.ExecutionFinished:
		return e.Reason.String()
	case events.RetryStopped:
		return e.Reason.String()
	case events.CallRejected:
		return e.Reason.String()
	case events.BreakerStateChanged:
		return e.Reason.String()
	case events.HedgeDenied:
		return e.Reason.String()
	case events.LimitChanged:
		return e.Reason.String()
	case events.ShadowRejected:
		return e.Reason.String()
	case events.ConfigWarning:
		return e.Code
	case events.CallbackPanicked:
		return e.Callback
	case events.HandlerPanicked:
		return e.Event
	}
	return ""
}
