package resilience

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/telltale-go/telltale/events"
)

// builder folds layers into one Next.
type builder[T any] struct {
	cfg     PipelineConfig[T]
	bus     *events.Bus
	infos   []LayerInfo
	discard func(context.Context, Call, T)
}

// fold checks a configuration and makes it ready to run. shared is the source of pipelines that have none of their own.
func fold[T any](cfg PipelineConfig[T], shared *events.Source) (*folded[T], error) {
	b := &builder[T]{cfg: cfg, bus: or(cfg.Bus, events.Default())}
	b.cfg.Layers = make([]Layer, len(cfg.Layers))
	for i, l := range cfg.Layers {
		b.cfg.Layers[i] = literal(l)
	}
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("resilience: pipeline %q: %w", cfg.Name, err)
	}
	description := b.describe()
	source := shared
	if source == nil {
		source = b.bus.NewSource(b.spec(description))
	}
	at := place{bus: b.bus, source: source, position: -1}
	b.discard = b.discarder(at)
	next := newAttempting(b, at)
	for i := len(b.cfg.Layers) - 1; i >= 0; i-- {
		at := place{bus: b.bus, source: layerSource(source, shared != nil, i, b.infos[i].Type), name: b.infos[i].Name, position: i}
		if next = b.layer(at, b.cfg.Layers[i], next); next == nil {
			b.bus.Remove(source)
			return nil, fmt.Errorf("resilience: pipeline %q: layer %d (%s): Wrap returned nil", cfg.Name, i, b.infos[i].Name)
		}
	}
	return &folded[T]{run: next, bus: b.bus, source: source, hold: cfg.Hold, counted: b.counted(), description: description}, nil
}

// literal returns a pointer's literal, so that both may be used, and later changes change nothing.
func literal(l Layer) Layer {
	switch l := l.(type) {
	case *Retry:
		if l != nil {
			return *l
		}
	case *Timeout:
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
	case around:
		return newAround(l, next)
	case Gate:
		return newGating(b, at, l, next)
	case TypedLayer[T]:
		return l.Wrap(func(ctx context.Context, call Call, op Operation[T]) (T, error) {
			return next(ctx, call.stale(), op)
		})
	}
	return nil
}

// check refuses what cannot work, all of it at once.
func (b *builder[T]) check() error {
	c := checks{typ: "PipelineConfig"}
	c.name("Name", b.cfg.Name, true)
	if b.cfg.JudgeOnReturn && b.cfg.Hold == nil {
		c.refuse("JudgeOnReturn", true, "used with Hold")
	}
	problems := c.errors
	for i, l := range b.cfg.Layers {
		if err := b.checkLayer(l); err != nil {
			problems = append(problems, fmt.Errorf("layer %d: %w", i, err))
			continue
		}
		for j := range i {
			if sameState(b.cfg.Layers[j], l) {
				problems = append(problems, fmt.Errorf("layer %d (%s) is the same %T as layer %d: its state would count every call twice; "+
					"make another one", i, l.LayerInfo().Name, l, j))
			}
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	b.infos = infos(b.cfg.Layers)
	return nil
}

func (b *builder[T]) checkLayer(l Layer) error {
	if l == nil {
		return errors.New("is nil")
	}
	v := reflect.ValueOf(l)
	switch v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan:
		if v.IsNil() {
			return fmt.Errorf("is a nil %T", l)
		}
	}
	switch l := l.(type) {
	case interface{ check() error }:
		if err := l.check(); err != nil {
			return err
		}
	case Gate, TypedLayer[T]:
	default:
		if _, ok := v.Type().MethodByName("Wrap"); ok {
			return fmt.Errorf("%T does not fit a pipeline of %v: its Wrap is for another result type", l, reflect.TypeFor[T]())
		}
		return fmt.Errorf("%T is neither a layer of this package, nor a Gate, nor a TypedLayer[%v]", l, reflect.TypeFor[T]())
	}
	c := checks{typ: "LayerInfo"}
	info := l.LayerInfo()
	c.name("Name", info.Name, false)
	c.name("Type", info.Type, false)
	return c.err()
}

// sameState tells whether two layers are one gate. Pointers to types without fields may be equal by accident.
func sameState(a, b Layer) bool {
	if _, gate := a.(Gate); !gate {
		return false
	}
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	return v.Kind() == reflect.Pointer && v.Type() == w.Type() && v.Type().Elem().Size() > 0 && v.Pointer() == w.Pointer()
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
			all[i].Name = fmt.Sprintf("%s_%d", all[i].Name, i)
		}
	}
	return all
}

// retriesOutside tells whether a layer further out than position may start what is inside it more than once.
func (b *builder[T]) retriesOutside(position int) bool {
	for _, l := range b.cfg.Layers[:position] {
		if _, ok := l.(Retry); ok {
			return true
		}
	}
	return false
}

// counted tells whether a Retry's turns are not the operation's runs, so that these have to be counted.
func (b *builder[T]) counted() bool {
	retries := 0
	for _, l := range b.cfg.Layers {
		if r, ok := l.(Retry); ok {
			retries++
			if r.RetryRejections {
				retries++
			}
		}
	}
	return retries > 1
}

// discarder returns what gets rid of a superseded value.
func (b *builder[T]) discarder(at place) func(context.Context, Call, T) {
	discard := b.cfg.Discard
	if discard == nil {
		discard = closeValue
	}
	return func(ctx context.Context, call Call, v T) {
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
