package resilience

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// check refuses what cannot work, all of it at once.
func (b *builder[T]) check() error {
	c := checks{typ: "PipelineConfig"}
	c.name("Name", b.cfg.Name, true)
	c.bus(b.cfg.Bus)
	if b.cfg.JudgeOnReturn && b.cfg.Hold == nil {
		c.refuse("JudgeOnReturn", true, "false where Hold is not set")
	}
	problems := c.errors
	var sound []int
	for i, l := range b.cfg.Layers {
		if err := b.checkLayer(l); err != nil {
			problems = append(problems, eachLine(fmt.Sprintf("layer %d", i), err))
			continue
		}
		for _, j := range sound {
			if sameState(b.cfg.Layers[j], l) {
				problems = append(problems, fmt.Errorf("layer %d (%s) is the same %T as layer %d: its state would count, or take, every call twice; "+
					"make another one", i, nameOf(l), l, j))
			}
		}
		sound = append(sound, i)
	}
	if len(problems) > 0 {
		return eachLine(fmt.Sprintf("resilience: pipeline %q", b.cfg.Name), errors.Join(problems...))
	}
	b.infos = infos(b.cfg.Layers)
	return nil
}

// nameOf returns a layer's name, else its type.
func nameOf(l Layer) string {
	info := l.LayerInfo()
	return or(info.Name, info.Type)
}

// eachLine puts a prefix before each of the errors that err joins, so that each line tells where it belongs.
func eachLine(prefix string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fmt.Errorf("%s: %w", prefix, err)
	}
	var lines []error
	for _, e := range joined.Unwrap() {
		lines = append(lines, eachLine(prefix, e))
	}
	return errors.Join(lines...)
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
	if err := b.fits(l); err != nil {
		return err
	}
	if l, ok := l.(interface{ check() error }); ok {
		if err := l.check(); err != nil {
			return err
		}
	}
	c := checks{typ: "LayerInfo"}
	info := l.LayerInfo()
	c.name("Name", info.Name, false)
	c.name("Type", info.Type, false)
	return c.err()
}

// fits refuses what is no layer of a pipeline of T.
func (b *builder[T]) fits(l Layer) error {
	switch l := l.(type) {
	case Retry, Timeout, Hedge, Fallback[T], around:
		return nil
	case *Chaos:
		return fitsChaos[T](l)
	case *Singleflight:
		if b.oneOff {
			return errOneOffFlight
		}
		return nil
	}
	if other, ok := l.(interface{ resultType() reflect.Type }); ok && other.resultType() != reflect.TypeFor[T]() {
		return fmt.Errorf("%s does not fit a pipeline of %v: it is a %T", nameOf(l), reflect.TypeFor[T](), l)
	}
	_, gate := l.(Gate)
	_, typed := l.(TypedLayer[T])
	switch wrap, ok := reflect.TypeOf(l).MethodByName("Wrap"); {
	case gate && typed:
		return fmt.Errorf("%T is both a Gate and a TypedLayer: it can stand for one layer only", l)
	case gate || typed:
		return nil
	case ok:
		return fmt.Errorf("%s does not fit a pipeline of %v: it is a %T, whose method is Wrap%s", l.LayerInfo().Name, reflect.TypeFor[T](), l,
			strings.TrimPrefix(reflect.ValueOf(l).Method(wrap.Index).Type().String(), "func"))
	}
	return fmt.Errorf("%T is neither a layer of this package, nor a Gate, nor a TypedLayer[%v]%s", l, reflect.TypeFor[T](), b.almost(l))
}

var errOneOffFlight = errors.New("is a *resilience.Singleflight: calls of Do and Run are never joined, each has a pipeline of its own; build a Pipeline")

// almost tells what a type lacks to be a layer, as far as that can be guessed.
func (b *builder[T]) almost(l Layer) string {
	t := reflect.TypeOf(l)
	if p := reflect.PointerTo(t); t.Kind() != reflect.Pointer && (p.Implements(reflect.TypeFor[Gate]()) || p.Implements(reflect.TypeFor[TypedLayer[T]]())) {
		return fmt.Sprintf(": use a pointer, whose methods they are (&%v)", t)
	}
	for _, m := range []string{"Admit", "Settle"} {
		have, ok := t.MethodByName(m)
		want, _ := reflect.TypeFor[Gate]().MethodByName(m)
		if ok && strings.TrimPrefix(reflect.ValueOf(l).Method(have.Index).Type().String(), "func") != strings.TrimPrefix(want.Type.String(), "func") {
			return fmt.Sprintf(": a Gate's %s is %v", m, want.Type)
		}
	}
	_, admits := t.MethodByName("Admit")
	if _, settles := t.MethodByName("Settle"); admits != settles {
		return ": a Gate has both Admit and Settle"
	}
	return "; embedding a layer does not make one, see Around"
}

// sameState tells whether two layers are one gate or one Singleflight, or two around one state. Pointers to types without fields may be
// equal by accident.
func sameState(a, b Layer) bool {
	if s, ok := a.(stateful); ok {
		o, ok := b.(stateful)
		return ok && s.stateSource() == o.stateSource()
	}
	switch a.(type) {
	case Gate, *Singleflight:
	default:
		return false
	}
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	return v.Kind() == reflect.Pointer && v.Type() == w.Type() && v.Type().Elem().Size() > 0 && v.Pointer() == w.Pointer()
}
