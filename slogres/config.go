package slogres

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/telltale-go/telltale/events"
)

// Keys of the attributes that a record may have beside those of [events.Fields].
const (
	KeyCallKey = "resilience.call.key" // with Config.Keys
	KeyError   = "error"               // with Config.ErrorText
	KeyTraceID = "trace_id"            // with Config.Trace
	KeySpanID  = "span_id"             // with Config.Trace
	// KeyStandsFor is on a record that stands for several events: how many.
	KeyStandsFor = "stands_for"
)

// Config tells where records go and what is in them. The zero value writes to slog.Default's handler. Its functions are
// called inside users' calls, from many goroutines at once; with Buffered, Trace is called on the buffer's.
type Config struct {
	// Handler gets the records. Nil means that of [slog.Default], looked up for each record, so that a later
	// slog.SetDefault counts.
	Handler slog.Handler

	// Level decides a record's level. Nil means [LevelOf]; a function falls back to it for what it does not change.
	// With a function, an event costs an allocation even where its level is disabled.
	Level func(events.Event) slog.Level

	// Skip tells which events get no record, of those whose level is enabled. Nil means [SkipStarts]; a function
	// decides alone.
	Skip func(events.Event) bool

	// Trace returns the ids of the span in a context, for the attributes trace_id and span_id; false: there is none.
	// Nil means no such attributes. It is otelres.TraceIDs for OpenTelemetry.
	Trace func(ctx context.Context) (traceID, spanID string, ok bool)

	// ErrorText adds the text of the failure that an event is about, which may hold personal data. Without it an error
	// goes out by its class only. What a function panicked with is never written.
	ErrorText bool

	// Keys adds the call's key (DoKey), which may be personal.
	Keys bool

	// Burst and Period bound the records of a storm. Of events of one kind (equal sentence, source, reason, type of error
	// and level) above DEBUG, the first Burst in a Period are written at once. The rest is counted, and one record with
	// the attribute stands_for tells how many there were when the Period is over: at the next event of whatever kind, or
	// at detach. Its attributes are those of the first of them, its time the last's. Zero means 10 and 10 s; a negative
	// Burst means no bound.
	Burst  int
	Period time.Duration

	// Buffered, when it is not zero, has records written in order on a goroutine that lives while there are any, so that
	// a slow handler delays no call. At most so many events wait; more are dropped and counted in
	// [events.Bus.Dropped]. The handler's context then has the values of the call's and is never done.
	Buffered int

	// FlushTimeout is how long detach waits until what is buffered is written; what is left then is dropped and counted.
	// Zero means 5 s. A handler that detaches itself waits for itself that long.
	FlushTimeout time.Duration
}

const defaultFlushTimeout = 5 * time.Second

func (c Config) check() error {
	if c.Buffered < 0 {
		return fmt.Errorf("slogres: Config.Buffered = %d: must be 0 (no buffer) or more", c.Buffered)
	}
	if c.Period < 0 {
		return fmt.Errorf("slogres: Config.Period = %v: must be 0 (%v) or more", c.Period, defaultPeriod)
	}
	if c.FlushTimeout < 0 {
		return fmt.Errorf("slogres: Config.FlushTimeout = %v: must be 0 (%v) or more", c.FlushTimeout, defaultFlushTimeout)
	}
	return nil
}

// LevelOf returns the level of an event's [events.Severity].
func LevelOf(e events.Event) slog.Level {
	switch events.SeverityOf(e) {
	case events.SeverityError:
		return slog.LevelError
	case events.SeverityWarn:
		return slog.LevelWarn
	case events.SeverityInfo:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// SkipStarts leaves out the starts of executions and attempts, whose ends tell all that they do.
func SkipStarts(e events.Event) bool {
	switch e.(type) {
	case events.ExecutionStarted, events.AttemptStarted:
		return true
	}
	return false
}
