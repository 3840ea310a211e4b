package events_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

// filled returns an event of the kind with something in every field: names in its strings, secrets in what may be
// personal (the call's key, an error's text, what somebody panicked with).
func filled(kind events.Entry, bus *events.Bus, name string) events.Event {
	spec := named(name, name)
	spec.Settings = secret
	pipeline := bus.NewSource(spec)
	layer := pipeline.Layers()[0]
	v := reflect.New(reflect.TypeOf(kind.Zero)).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); value := f.Interface().(type) {
		case events.Meta:
			f.Set(reflect.ValueOf(events.Meta{Source: pipeline, Key: secret, Execution: 7, Attempt: 2, Nested: true, At: time.Unix(1, 5).UTC()}))
		case *events.Source:
			f.Set(reflect.ValueOf(layer))
		case string:
			f.SetString(name)
		case bool:
			f.SetBool(true)
		case float64:
			f.SetFloat(0.5)
		case time.Duration:
			f.SetInt(int64(1500 * time.Millisecond))
		case events.Outcome, events.Reason, events.State, events.AttemptKind, events.FlightRole, events.Fault:
			f.SetUint(1)
		case uint64:
			f.SetUint(3)
		case int, int64:
			f.SetInt(4)
		default:
			if f.Type() == reflect.TypeFor[context.Context]() {
				break // it is for links, and not told
			}
			if f.Kind() != reflect.Interface {
				panic(fmt.Sprintf("%s has a field of type %T: fill it here, and tell it in Fields", kind.Name, value))
			}
			f.Set(reflect.ValueOf(errors.New(secret)))
		}
	}
	return v.Interface().(events.Event)
}

// keys maps each key of an event's fields to its value, and fails if one stands twice.
func keys(t *testing.T, e events.Event) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, f := range events.Fields(e) {
		if _, twice := all[f.Key]; twice {
			t.Errorf("%s tells %s twice", e.EventName(), f.Key)
		}
		switch f.Value.(type) {
		case string, int64, float64:
		default:
			t.Errorf("%s: %s is a %T", e.EventName(), f.Key, f.Value)
		}
		all[f.Key] = f.Value
	}
	return all
}

// BUS-12 BUS-13
func TestFieldsTellNoKeyValueOrErrorText(t *testing.T) {
	bus := events.NewBus()
	for _, kind := range events.Catalogue() {
		e := filled(kind, bus, "name")
		if first := events.Fields(e)[0]; first != (events.Field{Key: events.KeyEventName, Value: kind.Name}) {
			t.Errorf("%s: the first field is %v", kind.Name, first)
		}
		line, err := events.AppendJSON(nil, e)
		if err != nil {
			t.Errorf("%s: %v", kind.Name, err)
		}
		if told := fmt.Sprint(keys(t, e), string(line)); strings.Contains(told, secret) {
			t.Errorf("%s tells what may be personal: %s", kind.Name, told)
		}
	}
}

// BUS-13
func TestFieldsOfZeroEventsTellTheirName(t *testing.T) {
	for _, kind := range events.Catalogue() {
		if got := keys(t, kind.Zero)[events.KeyEventName]; got != kind.Name {
			t.Errorf("%s tells the name %v", kind.Name, got)
		}
		if line, err := events.AppendJSON(nil, kind.Zero); err != nil || !json.Valid(line) {
			t.Errorf("%s: %s, %v", kind.Name, line, err)
		}
	}
}

// BUS-09
func TestFieldsExplainAnExecution(t *testing.T) {
	bus := events.NewBus()
	spec := named("users.get", "payments-db")
	spec.Layers[0].Type = events.TypeBreaker
	pipeline := bus.NewSource(spec)
	got := events.Fields(events.ExecutionFinished{
		Meta: events.Meta{Source: pipeline, Key: secret, Execution: 9}, Outcome: events.OutcomeRejected, Reason: events.ReasonOpen,
		Layer: pipeline.Layers()[0], Err: classed{"breaker_open"}, Attempts: 2,
		Duration: 4 * time.Second, Working: 1500 * time.Millisecond, Backoff: 2 * time.Second, Queued: 500 * time.Millisecond,
	})
	want := []events.Field{
		{Key: "event.name", Value: "execution.finished"}, {Key: "resilience.pipeline.name", Value: "users.get"},
		{Key: "resilience.execution.id", Value: int64(9)}, {Key: "resilience.outcome", Value: "rejected"},
		{Key: "resilience.reason", Value: "open"}, {Key: "resilience.layer.name", Value: "payments-db"},
		{Key: "resilience.layer.type", Value: "circuit_breaker"}, {Key: "resilience.execution.attempts", Value: int64(2)},
		{Key: "duration_s", Value: 4.0}, {Key: "working_s", Value: 1.5}, {Key: "backoff_s", Value: 2.0}, {Key: "queued_s", Value: 0.5},
		{Key: "error.type", Value: "breaker_open"},
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got\n%v, want\n%v", got, want)
	}
}

func TestFieldsTellOfAPipelinesLifeByItsType(t *testing.T) {
	bus := events.NewBus()
	pipeline := bus.NewSource(named("p"))
	shared := bus.NewSource(events.SourceSpec{Layer: "db", Type: events.TypeBreaker})
	for s, want := range map[*events.Source]map[string]any{
		pipeline: {"event.name": "source.added", "resilience.pipeline.name": "p", "resilience.layer.type": "pipeline"},
		shared:   {"event.name": "source.added", "resilience.layer.name": "db", "resilience.layer.type": "circuit_breaker"},
	} {
		if got := keys(t, events.SourceAdded{Meta: events.Meta{Source: s}}); !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestAppendJSONAppendsOneObject(t *testing.T) {
	e := events.RetryStopped{Meta: events.Meta{At: time.Date(2026, 11, 30, 8, 0, 0, 5, time.UTC)}, Reason: events.ReasonExhausted, Attempts: 3}
	got, err := events.AppendJSON([]byte("before "), e)
	want := `before {"time":"2026-11-30T08:00:00.000000005Z","event.name":"retry.stopped","resilience.reason":"exhausted","resilience.execution.attempts":3}`
	if err != nil || string(got) != want {
		t.Fatalf("got %s, %v, want %s", got, err, want)
	}
}

// hostile strings end up in names: the user's own, or those of a configuration file.
var hostile = []string{
	"", `"`, `\`, `","event.name":"forged`, "\x00\x01\x1f\x7f", "a\nb\r\tc", "\xff\xfe invalid", "\u2028\u2029", "</script><!--", "日本語 😀",
	"\ud7ff\uffff", strings.Repeat("x", 1<<12),
}

// BUS-12 BUS-13
func TestAppendJSONIsValidWithHostileNames(t *testing.T) {
	bus := events.NewBus()
	for _, name := range hostile {
		for _, kind := range events.Catalogue() {
			checkJSON(t, filled(kind, bus, name))
		}
	}
}

func FuzzAppendJSON(f *testing.F) {
	for _, name := range hostile {
		f.Add(name)
	}
	bus := events.NewBus()
	f.Fuzz(func(t *testing.T, name string) {
		for _, kind := range events.Catalogue() {
			checkJSON(t, filled(kind, bus, name))
		}
	})
}

// checkJSON decodes the event's line and compares it with its fields.
func checkJSON(t *testing.T, e events.Event) {
	t.Helper()
	line, err := events.AppendJSON(nil, e)
	if err != nil || strings.ContainsAny(string(line), "\n\r") {
		t.Fatalf("%s: %q, %v: not one line", e.EventName(), line, err)
	}
	var decoded map[string]any
	if err := json.Unmarshal(line, &decoded); err != nil {
		t.Fatalf("%s: %q: %v", e.EventName(), line, err)
	}
	want := keys(t, e)
	for key, v := range want {
		switch v := v.(type) {
		case string:
			want[key] = strings.ToValidUTF8(v, "\ufffd")
			if strings.ToValidUTF8(v, "") != v {
				want[key] = decoded[key] // how many marks a bad sequence becomes is encoding/json's affair
			}
		case int64:
			want[key] = float64(v)
		}
	}
	want["time"] = e.Header().At.Format(time.RFC3339Nano)
	if !reflect.DeepEqual(decoded, want) {
		t.Fatalf("%s: decoded %v, want %v", e.EventName(), decoded, want)
	}
}

func TestAppendJSONLeavesTheBufferAsItWasWhenANumberHasNoJSON(t *testing.T) {
	for _, ratio := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		before := []byte("before ")
		got, err := events.AppendJSON(before, events.BreakerStateChanged{FailureRatio: ratio})
		if err == nil || string(got) != "before " {
			t.Errorf("%v: %q, %v, want an error and the buffer as it was", ratio, got, err)
		}
	}
}
