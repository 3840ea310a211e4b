package events_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// source parses the package's own files.
func source(t *testing.T) (files []*ast.File) {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// declared returns the names of the types that the source gives an EventName.
func declared(t *testing.T) map[string]bool {
	types := map[string]bool{}
	for _, file := range source(t) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "EventName" {
				types[f.Recv.List[0].Type.(*ast.Ident).Name] = true
			}
		}
	}
	return types
}

// cases returns the names of the types in the type switch of the named function.
func cases(t *testing.T, function string) (types []string) {
	for _, file := range source(t) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != function {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.TypeSwitchStmt)
				if !ok {
					return true
				}
				for _, c := range s.Body.List {
					for _, e := range c.(*ast.CaseClause).List {
						types = append(types, e.(*ast.Ident).Name)
					}
				}
				return false
			})
		}
	}
	return types
}

// BUS-13
func TestCatalogueListsEveryEventTypeOnce(t *testing.T) {
	want := declared(t)
	if len(want) < 15 {
		t.Fatalf("found only %d event types in the source", len(want))
	}
	listed := map[string]bool{}
	names := map[string]bool{}
	wellFormed := regexp.MustCompile(`^[a-z]+(_[a-z]+)*\.[a-z]+(_[a-z]+)*$`)
	for _, k := range events.Catalogue() {
		typ := reflect.TypeOf(k.Zero).Name()
		if listed[typ] || names[k.Name] {
			t.Errorf("%s (%s) is listed twice, or its name is", typ, k.Name)
		}
		listed[typ], names[k.Name] = true, true
		if k.Name != k.Zero.EventName() || !wellFormed.MatchString(k.Name) {
			t.Errorf("%s has the name %q, in the catalogue %q", typ, k.Zero.EventName(), k.Name)
		}
		if k.Doc == "" || strings.HasSuffix(k.Doc, ".") || strings.Contains(k.Doc, "\n") {
			t.Errorf("%s: the doc %q is not a line without a full stop", typ, k.Doc)
		}
	}
	if !maps.Equal(listed, want) {
		t.Errorf("catalogue.go lists %v, the source declares %v: add a row to the catalogue", listed, want)
	}
}

// BUS-13
func TestCatalogueIsACopy(t *testing.T) {
	events.Catalogue()[0] = events.Entry{}
	if events.Catalogue()[0].Zero == nil {
		t.Fatal("a caller changed the catalogue")
	}
}

// BUS-13
func TestSeverityAndErrorAreToldOfEveryEventType(t *testing.T) {
	all := slices.Sorted(maps.Keys(declared(t)))
	if got := slices.Sorted(slices.Values(cases(t, "SeverityOf"))); !slices.Equal(got, all) {
		t.Errorf("SeverityOf has cases for %v, want one for each of %v", got, all)
	}
	sentinel := errors.New("sentinel")
	for _, k := range events.Catalogue() {
		v := reflect.New(reflect.TypeOf(k.Zero)).Elem()
		var want error
		for i := range v.NumField() {
			if v.Type().Field(i).Type == reflect.TypeFor[error]() {
				v.Field(i).Set(reflect.ValueOf(sentinel))
				want = sentinel
			}
		}
		if got := events.ErrorOf(v.Interface().(events.Event)); got != want {
			t.Errorf("ErrorOf(%s) = %v, want %v", k.Name, got, want)
		}
		if got := events.ErrorOf(k.Zero); got != nil {
			t.Errorf("ErrorOf of a zero %s = %v", k.Name, got)
		}
	}
}

// PITFALL-37
func TestSeverityTellsWhatIsWorthAWarning(t *testing.T) {
	type severities map[events.Severity][]events.Event
	outcomes, states := 0, 0
	for want, all := range (severities{
		events.SeverityDebug: {
			events.ExecutionStarted{}, events.AttemptStarted{}, events.AttemptFinished{Outcome: events.OutcomeFailure}, // a retry may mend it
			events.RetryScheduled{}, events.RetryStopped{}, events.CallRejected{}, events.LateResult{}, events.SourceAdded{}, events.SourceRemoved{},
			events.ExecutionFinished{Outcome: events.OutcomeSuccess}, events.ExecutionFinished{Outcome: events.OutcomeCanceled},
			events.ExecutionFinished{Outcome: events.OutcomeFallback}, events.HedgeStarted{}, events.HedgeSettled{}, events.HedgeDenied{},
			events.FlightJoined{}, events.KeyEvicted{}, events.ShadowRejected{},
		},
		events.SeverityInfo: {
			events.BreakerStateChanged{To: events.StateClosed}, events.BreakerStateChanged{To: events.StateHalfOpen},
			events.BreakerStateChanged{To: events.StateDisabled}, events.LimitChanged{},
		},
		events.SeverityWarn: {
			events.BreakerStateChanged{To: events.StateOpen}, events.BreakerStateChanged{To: events.StateForcedOpen},
			events.ExecutionFinished{Outcome: events.OutcomeFailure}, events.ExecutionFinished{Outcome: events.OutcomeTimeout},
			events.ExecutionFinished{Outcome: events.OutcomeRejected}, events.TimedOut{}, events.DiscardFailed{},
			events.FallbackUsed{}, events.FaultInjected{}, events.ConfigWarning{},
		},
		events.SeverityError: {events.CallbackPanicked{}, events.HandlerPanicked{}},
	}) {
		for _, e := range all {
			if got := events.SeverityOf(e); got != want {
				t.Errorf("SeverityOf(%+v) = %v, want %v", e, got, want)
			}
			switch e.(type) {
			case events.ExecutionFinished:
				outcomes++
			case events.BreakerStateChanged:
				states++
			}
		}
	}
	if outcomes != len(events.Outcomes()) || states != len(events.States()) {
		t.Error("an Outcome or a State is not in this table")
	}
}

// BUS-13
func TestCatalogueKindsAreAllHeardThroughTheBus(t *testing.T) {
	bus := events.NewBus()
	types := map[string]bool{}
	bus.Subscribe(func(_ context.Context, e events.Event) { types[reflect.TypeOf(e).Name()] = true })
	publishAll(t.Context(), bus)
	bus.Remove(bus.NewSource(named("s")))
	if want := declared(t); !maps.Equal(types, want) {
		t.Errorf("heard %v, the source declares %v: add a topic to Bus and NewBus", types, want)
	}
}
