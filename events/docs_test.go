package events_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// The tables of docs/events.md are made by: go test ./events -run Golden -update
var update = flag.Bool("update", false, "write the tables of docs/events.md anew")

// BUS-13: docs/events.md is made from the catalogue, and is current.
func TestGoldenEventsPage(t *testing.T) {
	const page = "../docs/events.md"
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	was := string(b)
	is := between(t, was, "events", eventsTable())
	is = between(t, is, "values", valuesTable())
	if *update {
		if err := os.WriteFile(page, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if is != was {
		t.Errorf("%s is not current: go test ./events -run Golden -update", page)
	}
}

// between puts a table between the marks of its name.
func between(t *testing.T, page, name, table string) string {
	t.Helper()
	begin, end := "<!-- made: "+name+" -->\n", "<!-- end: "+name+" -->"
	head, rest, ok := strings.Cut(page, begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("the page has not the marks %q and %q", begin, end)
	}
	return head + begin + table + end + tail
}

func eventsTable() string {
	var b strings.Builder
	b.WriteString("| event | type, where to subscribe | severity | what it tells | fields of its own |\n|---|---|---|---|---|\n")
	bus := events.NewBus()
	for _, kind := range events.Catalogue() {
		typ := reflect.TypeOf(kind.Zero)
		fmt.Fprintf(&b, "| `%s` | `%s`, %s | %s | %s | %s |\n", kind.Name, typ.Name(), place(typ), severities(kind.Zero),
			kind.Doc, strings.Join(ownFields(kind, bus), " "))
	}
	return b.String()
}

// place tells which field of Bus distributes a type.
func place(typ reflect.Type) string {
	bus := reflect.TypeFor[events.Bus]()
	for i := range bus.NumField() {
		f := bus.Field(i)
		// The types in brackets are of this kind or of its other end.
		_, of, _ := strings.Cut(f.Type.Name(), "[")
		for _, t := range strings.Split(strings.TrimSuffix(of, "]"), ",") {
			if strings.HasSuffix(t, "events."+typ.Name()) {
				return "`Bus." + f.Name + "`"
			}
		}
	}
	return "`Bus.Source`"
}

// severities tells an event's severity; where it follows from a value, which ones.
func severities(zero events.Event) string {
	usual := events.SeverityOf(zero)
	by := map[events.Severity][]string{}
	v := reflect.New(reflect.TypeOf(zero)).Elem()
	for i := range v.NumField() {
		values := 0
		switch v.Field(i).Interface().(type) {
		case events.Outcome:
			values = len(events.Outcomes())
		case events.State:
			values = len(events.States())
		}
		for value := range values {
			v.Field(i).SetUint(uint64(value) + 1)
			if s := events.SeverityOf(v.Interface().(events.Event)); s != usual {
				by[s] = append(by[s], "`"+fmt.Sprint(v.Field(i).Interface())+"`")
			}
			v.Field(i).SetUint(0)
		}
	}
	text := usual.String()
	for _, s := range []events.Severity{events.SeverityInfo, events.SeverityWarn, events.SeverityError} {
		if len(by[s]) > 0 {
			text += "; " + s.String() + " for " + strings.Join(by[s], " ")
		}
	}
	return text
}

// ownFields lists the keys that not every event has.
func ownFields(kind events.Entry, bus *events.Bus) (keys []string) {
	common := []string{events.KeyEventName, events.KeyPipelineName, events.KeyLayerName, events.KeyLayerType, events.KeyExecution, events.KeyAttemptNumber}
	for _, f := range events.Fields(filled(kind, bus, "name")) {
		if key := "`" + f.Key + "`"; !slices.Contains(common, f.Key) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func valuesTable() string {
	var b strings.Builder
	b.WriteString("| field | values |\n|---|---|\n")
	row := func(key string, values ...string) {
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", key, strings.Join(values, "` `"))
	}
	row(events.KeyOutcome, texts(events.Outcomes())...)
	row(events.KeyAttemptKind, texts(events.AttemptKinds())...)
	row(events.KeyReason, texts(events.Reasons())...)
	row(events.KeyState, texts(events.States())...)
	row(events.KeyFlightRole, texts(events.FlightRoles())...)
	row(events.KeyFault, texts(events.Faults())...)
	return b.String()
}

func texts[E fmt.Stringer](all []E) []string {
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = v.String()
	}
	return names
}
