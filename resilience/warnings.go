package resilience

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/telltale-go/telltale/events"
)

// Warning tells what is odd about a pipeline: it can work, but hardly as it was meant. docs/warnings.md explains each code.
type Warning struct {
	Code    string `json:"code"`             // stable: one of events.WarningCodes
	Message string `json:"message"`          // for people
	Layers  []int  `json:"layers,omitempty"` // the positions of the layers it is about, the outermost first; none: the whole
}

// Warnings returns what is odd about the pipeline: what was found when it was built, of its own layers and of the state
// that it shares, then what was seen since (see events.WarningNestedRetry). Each was also published as an
// [events.ConfigWarning], once, which late subscribers get, too. What is put together for one call ([Do], [Run]) and
// [PassThrough] are not examined.
func (p *Pipeline[T]) Warnings() []Warning { return p.Describe().Warnings }

// warnings joins what the rules found, what the bus was told of the pipeline since, and what it was told of shared state.
func (f *folded[T]) warnings() []Warning {
	all := slices.Clone(f.odd)
	for i := range all {
		all[i].Layers = slices.Clone(all[i].Layers)
	}
	if !f.owned {
		return all
	}
	add := func(of *events.Source, layers []int) {
		for _, e := range of.Warnings() {
			if !slices.ContainsFunc(f.odd, func(w Warning) bool { return w.Code == e.Code && w.Message == e.Message }) {
				at := layers
				if of == f.source && e.Source.Layer() != "" { // a layer's own are kept with its pipeline's
					at = []int{e.Source.Position()}
				}
				all = append(all, Warning{e.Code, e.Message, at})
			}
		}
	}
	add(f.source, nil)
	for i, l := range f.source.Layers() {
		if state := l.Shared(); state != nil {
			add(state, []int{i})
		}
	}
	return all
}

// warn publishes a warning of what the source is.
func warn(ctx context.Context, bus *events.Bus, source *events.Source, w Warning) {
	bus.ConfigWarning.Publish(ctx, events.ConfigWarning{
		Meta: events.Meta{Source: source, At: time.Now()}, Code: w.Code, Message: w.Message,
	})
}

// warnOfState publishes what is odd about state alone, when it is made. Its pipelines have it in their Warnings.
func (p place) warnOfState(t traits) {
	for _, w := range shortDurations(t.durations) {
		warn(context.Background(), p.bus, p.source, w)
	}
}

// shortDurations warns of durations that look as if their unit were missing.
func shortDurations(all []duration, layers ...int) (warnings []Warning) {
	for _, d := range all {
		if d.value > 0 && d.value < time.Millisecond {
			warnings = append(warnings, Warning{events.WarningShortDuration,
				fmt.Sprintf("%s is %v: is its unit missing? A plain number is nanoseconds (%d * time.Millisecond)", d.field, d.value, d.value), layers})
		}
	}
	return warnings
}
