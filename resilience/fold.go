package resilience

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/telltale-go/telltale/events"
)

// builder folds layers into one Next.
type builder[T any] struct {
	cfg        PipelineConfig[T]
	bus        *events.Bus
	infos      []LayerInfo
	oneOff     bool // it is for one call
	background *background
	discard    func(context.Context, Call, T)
}

// fold checks a configuration and makes it ready to run. shared is the source of pipelines that have none of their own.
func fold[T any](cfg PipelineConfig[T], shared *events.Source) (*folded[T], error) {
	b := &builder[T]{cfg: cfg, bus: or(cfg.Bus, events.Default()), oneOff: shared != nil, background: new(background)}
	b.cfg.Layers = make([]Layer, len(cfg.Layers))
	for i, l := range cfg.Layers {
		b.cfg.Layers[i] = literal[T](l)
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	description := b.describe()
	source, built := shared, false
	if shared == nil {
		source = b.bus.NewSource(b.spec(description))
		defer func() {
			if !built {
				b.bus.Remove(source)
			}
		}()
	}
	at := place{bus: b.bus, source: source, position: -1}
	b.discard = b.discarder(at)
	next := newAttempting(b, at)
	for i := len(b.cfg.Layers) - 1; i >= 0; i-- {
		at := place{bus: b.bus, source: layerSource(source, shared != nil, i, b.infos[i].Type), name: b.infos[i].Name, position: i}
		if next = b.layer(at, b.cfg.Layers[i], next); next == nil {
			return nil, fmt.Errorf("resilience: pipeline %q: layer %d (%s): Wrap returned nil", cfg.Name, i, b.infos[i].Name)
		}
	}
	built = true
	f := &folded[T]{
		run: next, bus: b.bus, source: source, hold: cfg.Hold,
		owned: shared == nil, counted: b.counted(), lends: b.lends(), discard: b.discard, disturbers: b.disturbers(), description: description,
		background: b.background, layers: b.cfg.Layers, nesting: b.newNesting(shared != nil),
	}
	if f.owned {
		s := b.stack()
		f.description.AttemptsAtWorst, f.odd = s.attemptsAtWorst(), s.warnings()
		for _, w := range f.odd {
			warn(context.Background(), b.bus, source, w)
		}
	}
	return f, nil
}

// literal returns a pointer's literal, so that both may be used, and later changes change nothing.
func literal[T any](l Layer) Layer {
	switch l := l.(type) {
	case *Retry:
		if l != nil {
			return *l
		}
	case *Timeout:
		if l != nil {
			return *l
		}
	case *Hedge:
		if l != nil {
			return *l
		}
	case *Fallback[T]:
		if l != nil {
			return *l
		}
	}
	return l
}

// layer puts one layer around next; nil if a layer of the user's returns nothing.
func (b *builder[T]) layer(at place, l Layer, next Next[T]) Next[T] {
	switch l := l.(type) {
	case Retry:
		return newRetrying(b, at, l, next)
	case Timeout:
		return newTiming(b, at, l, next)
	case Hedge:
		return newHedging(b, at, l, next)
	case Fallback[T]:
		return newFalling(b, at, l, next)
	case *Singleflight:
		return newJoining(b, at, l, next)
	case around:
		return newAround(b, l, next)
	case *Chaos:
		return newDisturbing(b, at, l, next)
	case Gate:
		return newGating(b, at, l, next)
	case TypedLayer[T]:
		return newTyped(l, next)
	}
	return nil
}

// infos describes the layers. A name that stands twice gets its position.
func infos(layers []Layer) []LayerInfo {
	all := make([]LayerInfo, len(layers))
	times := map[string]int{}
	for i, l := range layers {
		info := l.LayerInfo()
		info.Type = or(info.Type, events.TypeCustom)
		info.Name = or(info.Name, info.Type)
		times[info.Name]++
		all[i] = info
	}
	for i := range all {
		if times[all[i].Name] > 1 {
			name := fmt.Sprintf("%s_%d", all[i].Name, i)
			for times[name] > 0 { // another layer was given this very name
				name += "_"
			}
			times[name]++
			all[i].Name = name
		}
	}
	return all
}

// retriesOutside tells whether a layer further out than position may start what is inside it more than once.
func (b *builder[T]) retriesOutside(position int) bool {
	for _, l := range b.cfg.Layers[:position] {
		switch l.(type) {
		case Retry, Hedge:
			return true
		}
	}
	return false
}

// counted tells whether the operation's runs may differ from a Retry's turns, so that they have to be counted: another
// layer starts runs, too, or an attempt may end before the operation has run.
func (b *builder[T]) counted() bool {
	retries, limited := 0, false
	for i, l := range b.cfg.Layers {
		switch l := l.(type) {
		case Retry:
			if retries++; l.RetryRejections {
				return true
			}
		case Timeout:
			limited = retries > 0
		case *Singleflight:
			if i > 0 {
				return true // a turn of a Retry outside may share another's run, and a value is not discarded while others have it
			}
		case Hedge:
			if retries > 0 {
				return true
			}
		case around, TypedLayer[T]:
			return true
		case Gate:
			if gate := ours(l); limited && (gate == nil || gate.waits()) {
				return true // the limit may pass while the attempt waits for admission
			}
		}
	}
	return retries > 1
}

// disturbers lists what, while it is enabled, ends attempts of a Retry before the operation has run.
func (b *builder[T]) disturbers() (all []*Chaos) {
	for i, l := range b.cfg.Layers {
		if c, ok := l.(*Chaos); ok && b.retriesOutside(i) {
			all = append(all, c)
		}
	}
	return all
}

// lends tells whether nothing has the record of a call any more when the call has returned: no part of it runs on another
// goroutine, or is kept by a layer of the user's.
func (b *builder[T]) lends() bool {
	for _, l := range b.cfg.Layers {
		switch l := l.(type) {
		case Retry, Fallback[T], *Chaos:
		case Gate:
			if mayKeep(l) {
				return false
			}
		case Timeout:
			if l.Abandon {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// mayKeep tells whether a gate may use a call after it has returned, as one of the user's that settles another later does.
func mayKeep(gate Gate) bool {
	if k, ok := gate.(*Keyed); ok {
		return mayKeep(k.rest.gate) // New makes one kind of gate
	}
	return ours(gate) == nil
}

// discarder returns what gets rid of a superseded value.
func (b *builder[T]) discarder(at place) func(context.Context, Call, T) {
	discard := b.cfg.Discard
	if discard == nil {
		discard = closeValue
	}
	return func(ctx context.Context, call Call, v T) {
		if call.valueless || !call.drops() {
			return
		}
		if err := discarded(ctx, call, at, discard, v); err != nil && b.bus.DiscardFailed.Heard() {
			b.bus.DiscardFailed.Publish(ctx, events.DiscardFailed{Meta: call.meta(at.source, call.Attempt()), Err: err})
		}
	}
}

func discarded[T any](ctx context.Context, call Call, at place, discard func(T) error, v T) error {
	defer at.recoverCallback(ctx, call, "PipelineConfig.Discard")
	return discard(v)
}

// closeValue closes values that are io.Closers, nil pointers excepted.
func closeValue[T any](v T) error {
	c, ok := any(v).(io.Closer)
	if !ok {
		return nil
	}
	if r := reflect.ValueOf(c); r.Kind() == reflect.Pointer && r.IsNil() {
		return nil
	}
	return c.Close()
}

// settingsLine writes settings in one line.
func settingsLine(settings []Setting) string {
	parts := make([]string, len(settings))
	for i, s := range settings {
		parts[i] = s.Name + "=" + s.Value
	}
	return strings.Join(parts, " ")
}
