package resilience

import (
	"slices"

	"github.com/telltale-go/telltale/events"
)

// Description is a pipeline as data. It goes through JSON and back unchanged.
type Description struct {
	Name   string             `json:"name"`
	Layers []LayerDescription `json:"layers"`
}

// LayerDescription is one layer of a [Description].
type LayerDescription struct {
	Position int       `json:"position"` // 0 is the outermost
	Name     string    `json:"name"`
	Type     string    `json:"type"`
	Shared   string    `json:"shared,omitempty"` // the name of the state that it shares with other pipelines
	Settings []Setting `json:"settings"`         // effective, defaults filled in
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
	d := Description{Name: b.cfg.Name, Layers: []LayerDescription{}}
	for i, info := range b.infos {
		l := LayerDescription{Position: i, Name: info.Name, Type: info.Type, Settings: append([]Setting{}, info.Settings...)}
		if s, ok := b.cfg.Layers[i].(stateful); ok {
			l.Shared = s.stateSource().Layer()
		}
		d.Layers = append(d.Layers, l)
	}
	return d
}

// spec is the description as its bus wants it.
func (b *builder[T]) spec(d Description) events.SourceSpec {
	spec := events.SourceSpec{Pipeline: d.Name, Type: events.TypePipeline}
	for i, l := range d.Layers {
		layer := events.SourceSpec{Pipeline: d.Name, Layer: l.Name, Type: l.Type, Position: i, Settings: settingsLine(l.Settings)}
		if s, ok := b.cfg.Layers[i].(stateful); ok {
			layer.Shared = s.stateSource()
		}
		spec.Layers = append(spec.Layers, layer)
	}
	return spec
}
