package resiliencetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// Want reports an error unless the recorded events of the types that are wanted are exactly these, in this order; events of
// other types do not count. A wanted event's zero fields match anything; an error matches by errors.Is.
//
//	resiliencetest.Want(t, rec,
//		events.RetryScheduled{Delay: 100 * time.Millisecond},
//		events.RetryStopped{Reason: events.ReasonExhausted, Err: errDown})
//
// At least one event must be wanted; see [WantNone].
func Want(t testing.TB, r *Recorder, wanted ...events.Event) {
	t.Helper()
	if len(wanted) == 0 {
		t.Errorf("resiliencetest.Want: no event is wanted; WantNone says of which type there must be none")
		return
	}
	var got []events.Event
	for _, e := range r.Events() {
		if slices.ContainsFunc(wanted, func(w events.Event) bool { return reflect.TypeOf(w) == reflect.TypeOf(e) }) {
			got = append(got, e)
		}
	}
	if differs := firstDifference(got, wanted); differs != "" {
		t.Errorf("the events are others than wanted: %s\ngot:\n%s\nwanted:\n%s", differs, indented(numbered(got, line)), indented(numbered(wanted, partial)))
	}
}

// WantNone reports an error if an event of type E was recorded.
func WantNone[E events.Event](t testing.TB, r *Recorder) {
	t.Helper()
	if some := Of[E](r); len(some) > 0 {
		all := make([]events.Event, len(some))
		for i, e := range some {
			all[i] = e
		}
		t.Errorf("there are events of a type of which none is wanted\ngot:\n%s", indented(numbered(all, line)))
	}
}

func numbered(all []events.Event, show func(events.Event) string) string {
	lines := make([]string, len(all))
	for i, e := range all {
		lines[i] = fmt.Sprintf("%d %s", i+1, show(e))
	}
	return strings.Join(lines, "\n")
}

func firstDifference(got, wanted []events.Event) string {
	for i := range min(len(got), len(wanted)) {
		g, w := reflect.ValueOf(got[i]), reflect.ValueOf(wanted[i])
		if g.Type() != w.Type() {
			return fmt.Sprintf("event %d is a %s, wanted a %s", i+1, got[i].EventName(), wanted[i].EventName())
		}
		if differs := fieldsDiffer(g, w); differs != "" {
			return fmt.Sprintf("of event %d %s", i+1, differs)
		}
	}
	if len(got) != len(wanted) {
		return fmt.Sprintf("there are %d, wanted %d", len(got), len(wanted))
	}
	return ""
}

var errorType = reflect.TypeFor[error]()

// fieldsDiffer compares the fields that are set in wanted.
func fieldsDiffer(got, wanted reflect.Value) string {
	for i := range wanted.NumField() {
		field := wanted.Type().Field(i)
		g, w := got.Field(i), wanted.Field(i)
		switch {
		case w.IsZero():
		case field.Anonymous:
			if differs := fieldsDiffer(g, w); differs != "" {
				return differs
			}
		case field.Type == errorType:
			err, _ := g.Interface().(error)
			if target := w.Interface().(error); !errors.Is(err, target) {
				return fmt.Sprintf("%s is %v, wanted %v", field.Name, err, target)
			}
		case !reflect.DeepEqual(g.Interface(), w.Interface()):
			return fmt.Sprintf("%s is %v, wanted %v", field.Name, g.Interface(), w.Interface())
		}
	}
	return ""
}

// partial shows the fields of a wanted event that are set.
func partial(e events.Event) string {
	parts := []string{e.EventName()}
	var add func(v reflect.Value)
	add = func(v reflect.Value) {
		for i := range v.NumField() {
			field := v.Type().Field(i)
			switch {
			case v.Field(i).IsZero():
			case field.Anonymous:
				add(v.Field(i))
			default:
				parts = append(parts, fmt.Sprintf("%s=%v", field.Name, v.Field(i).Interface()))
			}
		}
	}
	add(reflect.ValueOf(e))
	return strings.Join(parts, " ")
}
