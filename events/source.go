package events

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
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
	*remnant
	hub      *hub                            // of the bus it is on
	layers   *[]*Source                      // nil: none
	whole    *Source                         // a layer's pipeline: who still publishes for the layer keeps its pipeline listed
	shared   *Source                         // the source of the state that a layer uses
	reads    any                             // the function that reads the present state; a list where there are several, nil where there is none
	warnings atomic.Pointer[[]ConfigWarning] // see Warnings; a pipeline's are those of its layers, too
	gone     atomic.Bool                     // it was removed; a layer goes with its pipeline
}

// remnant is what remains of a source when it is gone. It holds nothing alive.
type remnant struct {
	identity
	id        uint64
	settings  fmt.Stringer
	index     int32
	position  int16
	namesakes bool
}

// text is settings that are written already.
type text string

func (t text) String() string { return string(t) }

// left tells whether the source is gone.
func (s *Source) left() bool {
	if s.whole != nil {
		s = s.whole
	}
	return s.gone.Load()
}

// remains is what is told of the source when it is gone: a copy that reads no state.
func (s *Source) remains() *Source { return removed(s.hub, s.remnant, remnants(s.Layers())) }

// removed is the source of these remnants, its own and its layers', after it is gone.
func removed(hub *hub, of *remnant, layers []*remnant) *Source {
	r := &Source{remnant: of, hub: hub}
	r.gone.Store(true)
	if len(layers) > 0 {
		all := make([]*Source, len(layers))
		for i, l := range layers {
			all[i] = removed(hub, l, nil)
		}
		r.layers = &all
	}
	return r
}

func remnants(sources []*Source) []*remnant {
	if len(sources) == 0 {
		return nil
	}
	all := make([]*remnant, len(sources))
	for i, s := range sources {
		all[i] = s.remnant
	}
	return all
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
	// Settings tells the effective settings in a line. SettingsOf, instead, writes it each time it is asked; it must hold
	// neither the source nor what the source reads.
	Settings   string
	SettingsOf fmt.Stringer
	// Layers are a pipeline's.
	Layers []SourceSpec
	// Breaker, Limiter and Budget read the present state; nil where there is none. They are called at scrapes, without any
	// lock of the bus held, and must be safe for concurrent use.
	Breaker func() BreakerReading
	Limiter func() LimiterReading
	Budget  func() BudgetReading
	// Keys reads each of the gates that the source stands for, where it does for several: those of a Keyed layer. Nil where it
	// does not. Like the others it is called at scrapes.
	Keys iter.Seq[KeyReading]
}

// String returns the source's names and type, for people.
func (s *Source) String() string {
	return strings.Trim(s.pipeline+"/"+s.layer, "/") + " (" + s.typ + ")"
}

// Pipeline returns the pipeline's name; empty for the state of a shared layer.
func (s *Source) Pipeline() string { return s.pipeline }

// Layer returns the layer's name; empty for a pipeline.
func (s *Source) Layer() string { return s.layer }

// Type returns the source's type: "pipeline", or the layer's.
func (s *Source) Type() string { return s.typ }

// Position returns the layer's place in its pipeline, 0 the outermost.
func (s *Source) Position() int { return int(s.position) }

// Shared returns the source of the state that the layer uses, nil if it has none.
func (s *Source) Shared() *Source { return s.shared }

// Settings returns the effective settings in a line, as they were when the source was made, or, for a source that writes
// them when asked, as they are.
func (s *Source) Settings() string {
	if s.settings == nil {
		return ""
	}
	return s.settings.String()
}

// Layers returns a pipeline's layers, the outermost first. The slice must not be changed.
func (s *Source) Layers() []*Source {
	if s.layers == nil {
		return nil
	}
	return *s.layers
}

// has tells whether a pipeline has a layer of a type.
func (s *Source) has(layerType string) bool {
	return s != nil && slices.ContainsFunc(s.Layers(), func(l *Source) bool { return l.Type() == layerType })
}

// ID is the source's own number in this process: it is never used again.
func (s *Source) ID() uint64 { return s.id }

// Index is a small number: no two live sources of the process share it, and it is used again when a source is gone. It
// is -1 on [Off]. A [Table] does what is needed to keep things by it.
func (s *Source) Index() int { return int(s.index) }

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
