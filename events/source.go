package events

import (
	"strings"
	"sync/atomic"
	"time"
)

// Types of sources: the values of resilience.layer.type. A layer of the user's names its own.
const (
	TypePipeline        = "pipeline"
	TypeRetry           = "retry"
	TypeBreaker         = "circuit_breaker"
	TypeTimeout         = "timeout"
	TypeBulkhead        = "bulkhead"
	TypeRateLimiter     = "rate_limiter"
	TypeAdaptiveLimiter = "adaptive_limiter"
	TypeHedge           = "hedge"
	TypeSingleflight    = "singleflight"
	TypeFallback        = "fallback"
	TypeChaos           = "chaos"
	TypeRetryBudget     = "retry_budget"
	TypeAround          = "around"
	TypeCustom          = "custom"
)

// Source is where events come from: a pipeline, a layer at its place in a pipeline, or the state of a shared layer. It is
// made once, is immutable, and is safe for concurrent use.
type Source struct {
	hub      *hub // of the bus it is on
	id       uint64
	index    int
	spec     SourceSpec
	layers   []*Source
	whole    *Source                         // a layer's pipeline: who still publishes for the layer keeps its pipeline listed
	rest     *Source                         // what is told of it when it is gone: a copy that reads no state and holds nothing alive
	gone     atomic.Bool                     // it was removed; a layer goes with its pipeline
	warnings atomic.Pointer[[]ConfigWarning] // see Warnings; a pipeline's are those of its layers, too
}

// left tells whether the source is gone.
func (s *Source) left() bool {
	if s.whole != nil {
		s = s.whole
	}
	return s.gone.Load()
}

// SourceSpec describes a source that is to be made.
type SourceSpec struct {
	// Pipeline is the pipeline's name; empty for the state of a shared layer.
	Pipeline string
	// Layer is the layer's name; empty for a pipeline.
	Layer string
	// Type is one of the Type constants, or the name of a layer type of the user's.
	Type string
	// Position is the layer's place in its pipeline, 0 the outermost.
	Position int
	// Shared is the source of the state that the layer uses, nil if it has none.
	Shared *Source
	// Namesakes: others may have the same names and type, on purpose, and nobody is warned of it.
	Namesakes bool
	// Settings tells the effective settings in a line.
	Settings string
	// Layers are a pipeline's.
	Layers []SourceSpec
	// Breaker, Limiter and Budget read the present state; nil where there is none. They are called at scrapes, without any
	// lock of the bus held, and must be safe for concurrent use.
	Breaker func() BreakerReading
	Limiter func() LimiterReading
	Budget  func() BudgetReading
}

// BreakerReading is a circuit breaker's state at one moment.
type BreakerReading struct {
	State State
	// In is how many breakers are in each state, indexed by State, where the source stands for several: those of a Keyed
	// layer. All 0: it is one breaker, in State.
	In [6]int64
	// Since is when the breaker entered the state, NextProbe when an open one lets a probe through (zero otherwise).
	Since, NextProbe time.Time
	// Seq is the sequence number of the last published transition.
	Seq uint64
	// Calls and Failures are what is counted now, FailureRatio their quotient, Limit what it is measured against: a
	// ratio, or a number of consecutive failures.
	Calls, Failures     int64
	FailureRatio, Limit float64
	// Cooldown is how long the breaker stays open when it opens next, or stays open now.
	Cooldown time.Duration
	// Spent is the time spent in each state so far, indexed by State; 0 is no state.
	Spent [6]time.Duration
}

// LimiterReading is a limiter's state at one moment.
type LimiterReading struct {
	// Limit is how many calls a bulkhead lets run at once; of a rate limiter, the burst.
	Limit int64
	// Usage is how many of them run; of a rate limiter, how many of the burst are taken and not refilled yet.
	Usage int64
	// Queued is how many calls wait.
	Queued int64
}

// BudgetReading is a retry budget's state at one moment.
type BudgetReading struct {
	// Available is how many extra attempts it would grant now: 0 is drained.
	Available int64
	// Limit is how many it grants at most.
	Limit int64
}

// String returns the source's names and type, for people.
func (s *Source) String() string {
	return strings.Trim(s.spec.Pipeline+"/"+s.spec.Layer, "/") + " (" + s.spec.Type + ")"
}

// Pipeline returns the pipeline's name; empty for the state of a shared layer.
func (s *Source) Pipeline() string { return s.spec.Pipeline }

// Layer returns the layer's name; empty for a pipeline.
func (s *Source) Layer() string { return s.spec.Layer }

// Type returns the source's type: "pipeline", or the layer's.
func (s *Source) Type() string { return s.spec.Type }

// Position returns the layer's place in its pipeline, 0 the outermost.
func (s *Source) Position() int { return s.spec.Position }

// Shared returns the source of the state that the layer uses, nil if it has none.
func (s *Source) Shared() *Source { return s.spec.Shared }

// Settings returns the effective settings in a line.
func (s *Source) Settings() string { return s.spec.Settings }

// Layers returns a pipeline's layers, the outermost first. The slice must not be changed.
func (s *Source) Layers() []*Source { return s.layers }

// ID is the source's own number in this process: it is never used again.
func (s *Source) ID() uint64 { return s.id }

// Index is a small number: no two live sources of the process share it, and it is used again when a source is gone. It
// is -1 on [Off]. A [Table] does what is needed to keep things by it.
func (s *Source) Index() int { return s.index }

// Breaker reads a circuit breaker's state; false for other sources.
func (s *Source) Breaker() (BreakerReading, bool) {
	if s.spec.Breaker == nil {
		return BreakerReading{}, false
	}
	return s.spec.Breaker(), true
}

// Limiter reads a limiter's state; false for other sources.
func (s *Source) Limiter() (LimiterReading, bool) {
	if s.spec.Limiter == nil {
		return LimiterReading{}, false
	}
	return s.spec.Limiter(), true
}

// Budget reads a retry budget's state; false for other sources.
func (s *Source) Budget() (BudgetReading, bool) {
	if s.spec.Budget == nil {
		return BudgetReading{}, false
	}
	return s.spec.Budget(), true
}

// SourceAdded: a pipeline or a shared layer was made.
type SourceAdded struct{ Meta }

// SourceRemoved: a pipeline or a shared layer was closed or dropped. Its Meta.Source is a copy that reads no state: it has
// the names and the index of the one that was added, not its pointer.
type SourceRemoved struct{ Meta }

func (SourceAdded) EventName() string   { return "source.added" }
func (SourceRemoved) EventName() string { return "source.removed" }

func (e SourceAdded) appendFields(f []Field) []Field   { return appendSource(f, e.Source) }
func (e SourceRemoved) appendFields(f []Field) []Field { return appendSource(f, e.Source) }

func appendSource(f []Field, s *Source) []Field {
	if s != nil && s.Layer() == "" {
		f = append(f, Field{KeyLayerType, s.Type()})
	}
	return f
}
