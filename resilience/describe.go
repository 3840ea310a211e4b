package resilience

import (
	"slices"

	"github.com/telltale-go/telltale/events"
)

// Description is a pipeline as data. It goes through JSON and back unchanged.
type Description struct {
	Name   string             `json:"name"`
	Layers []LayerDescription `json:"layers"`
	// AttemptsAtWorst is how many attempts begin when each takes all that its Timeout allows (without one, all that is
	// left), and each delay is the longest that its jitter draws. Where no Timeout limits them it is how many there may
	// be, or [Unlimited]; where one does, it is counted up to 1000. Delays that a function of the user's computes, and waits for
	// admission, count as none; the caller's own deadline is not known.
	AttemptsAtWorst int       `json:"attempts_at_worst"`
	Warnings        []Warning `json:"warnings"` // see [Pipeline.Warnings]
}

// LayerDescription is one layer of a [Description].
type LayerDescription struct {
	Position int       `json:"position"` // 0 is the outermost
	Name     string    `json:"name"`
	Type     string    `json:"type"`
	Shared   string    `json:"shared,omitempty"`    // the name of the state that it shares with other pipelines
	SharedID uint64    `json:"shared_id,omitempty"` // tells states of one name apart: the same in all that share one, in this process
	Settings []Setting `json:"settings"`            // effective, defaults filled in
}

func (d Description) clone() Description {
	d.Layers = slices.Clone(d.Layers)
	for i := range d.Layers {
		d.Layers[i].Settings = slices.Clone(d.Layers[i].Settings)
	}
	return d
}

// described is the description as it stands now.
func (f *folded[T]) described() Description {
	d := f.description.clone()
	for i, l := range f.layers {
		if ours(asGate(l)) != nil {
			d.Layers[i].Settings = l.LayerInfo().Settings
		}
	}
	return d
}

func asGate(l Layer) Gate { gate, _ := l.(Gate); return gate }

func (b *builder[T]) describe() Description {
	d := Description{Name: b.cfg.Name, Layers: []LayerDescription{}, AttemptsAtWorst: 1, Warnings: []Warning{}}
	for i, info := range b.infos {
		l := LayerDescription{Position: i, Name: info.Name, Type: info.Type, Settings: append([]Setting{}, info.Settings...)}
		if state := sharedState(b.cfg.Layers[i]); state != nil {
			l.Shared, l.SharedID = state.Layer(), state.ID()
		}
		d.Layers = append(d.Layers, l)
	}
	return d
}

// stack is the pipeline as the rules for warnings see it.
func (b *builder[T]) stack() stack {
	s := stack{bus: b.bus}
	for i, l := range b.cfg.Layers {
		s.layers = append(s.layers, traitsOf(l))
		s.names = append(s.names, b.infos[i].Name)
		s.given = append(s.given, l.LayerInfo().Name)
	}
	return s
}

// spec is the description as its bus wants it.
func (b *builder[T]) spec(d Description) events.SourceSpec {
	spec := events.SourceSpec{Pipeline: d.Name, Type: events.TypePipeline}
	for i, l := range d.Layers {
		layer := events.SourceSpec{Pipeline: d.Name, Layer: l.Name, Type: l.Type, Position: i, Settings: settingsLine(l.Settings)}
		layer.Shared = sharedState(b.cfg.Layers[i])
		spec.Layers = append(spec.Layers, layer)
	}
	return spec
}

// sharedState returns the source of the state that a layer shares with others, nil if it has none.
func sharedState(l Layer) *events.Source {
	switch l := l.(type) {
	case stateful:
		return l.stateSource()
	case budgeted:
		if budget := l.retryBudget(); budget != nil {
			return budget.source
		}
	}
	return nil
}
