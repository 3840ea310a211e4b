package resilience_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// find returns the warning of a code.
func (w warned) find(p *resilience.Pipeline[int]) (found resilience.Warning, ok bool) {
	i := slices.IndexFunc(p.Warnings(), func(o resilience.Warning) bool { return o.Code == w.code })
	if i < 0 {
		return found, false
	}
	return p.Warnings()[i], true
}

// PIPE-10
func TestEachWarningIsGivenToWhatDeservesItAndNotToItsNeighbour(t *testing.T) {
	rows := append(slices.Clone(warnedRows), shortRows()...)
	// Seen in calls, they have tests of their own.
	tested := map[string]bool{events.WarningNestedRetry: true, events.WarningEmptyKey: true, events.WarningKeyedFull: true,
		events.WarningClientTimeout: true}
	for i, row := range rows {
		tested[row.code] = true
		t.Run(fmt.Sprintf("%s %d", row.code, i), func(t *testing.T) {
			bus := events.NewBus()
			p := ints(bus, row.odd(bus)...)
			w, ok := row.find(p)
			if !ok || !slices.Equal(w.Layers, row.at) || !strings.Contains(w.Message, row.says) || strings.Contains(w.Message, "%!") {
				t.Errorf("got %+v, want one with %q at %v", p.Warnings(), row.says, row.at)
			}
			bus = events.NewBus()
			if w, ok := row.find(ints(bus, row.normal(bus)...)); ok {
				t.Errorf("its neighbour has %+v", w)
			}
		})
	}
	for _, code := range events.WarningCodes() {
		if !tested[code] {
			t.Errorf("%s has no row", code)
		}
	}
}

// PIPE-10
func TestWarningsAreOnTheBusInWarningsAndInTheDescription(t *testing.T) {
	bus := events.NewBus()
	early := record(bus)
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Cooldown: 500, Bus: bus})
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "odd", Bus: bus,
		Layers: layers{timeout(time.Second), timeout(2 * time.Second), db}})
	want := []resilience.Warning{p.Warnings()[0], p.Warnings()[1], p.Warnings()[2]}
	codes := []string{events.WarningTimeoutOrder, events.WarningTimeoutTwice, events.WarningShortDuration}
	for i, w := range want {
		if w.Code != codes[i] || len(p.Warnings()) != 3 {
			t.Fatalf("got %+v, want %v", p.Warnings(), codes)
		}
	}
	if got := p.Describe().Warnings; !reflect.DeepEqual(got, want) {
		t.Errorf("described: %+v", got)
	}
	late := record(bus)
	for _, tape := range []*tape{early, late} {
		told := heard[events.ConfigWarning](tape)
		if len(told) != 3 {
			t.Fatalf("told: %+v", told)
		}
		slices.SortFunc(told, func(a, b events.ConfigWarning) int { return slices.Index(codes, a.Code) - slices.Index(codes, b.Code) })
		for i, e := range told {
			if e.Code != want[i].Code || e.Message != want[i].Message || e.At.IsZero() {
				t.Errorf("told %+v, want %+v", e, want[i])
			}
		}
		if told[0].Source.Pipeline() != "odd" || told[2].Source.Layer() != "db" || told[2].Source.Pipeline() != "" {
			t.Errorf("told by %v and %v", told[0].Source, told[2].Source)
		}
	}
	_ = p.Close(t.Context())
	if got := p.Warnings(); !reflect.DeepEqual(got, want) {
		t.Errorf("after Close: %+v", got)
	}
	if told := heard[events.ConfigWarning](record(bus)); len(told) != 1 || told[0].Source.Layer() != "db" {
		t.Errorf("after Close the bus still tells %+v", told)
	}
}

// PIPE-10: a bus that nobody can hear is no reason not to say it.
func TestAPipelineOnNoBusHasWarnings(t *testing.T) {
	p := ints(events.Off(), timeout(500))
	if w := p.Warnings(); len(w) != 1 || w[0].Code != events.WarningShortDuration {
		t.Errorf("got %+v", w)
	}
}

// PIPE-10: they are the caller's to change.
func TestWarningsAreACopy(t *testing.T) {
	p := ints(events.NewBus(), timeout(time.Second), timeout(2*time.Second))
	changed := p.Warnings()
	for _, w := range changed {
		for i := range w.Layers {
			w.Layers[i] = 99
		}
	}
	if again := p.Warnings(); len(again) == 0 || !slices.Equal(again[0].Layers, []int{0, 1}) {
		t.Errorf("changed to %+v", again)
	}
}

// PIPE-10: only a pipeline that was built warns.
func TestAPipelineThatIsRefusedWarnsOfNothing(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	if _, err := resilience.NewPipeline(resilience.PipelineConfig[int]{Name: "odd", Bus: bus, Layers: layers{timeout(500), resilience.Retry{MaxAttempts: -2}}}); err == nil {
		t.Fatal("built")
	}
	if told := heard[events.ConfigWarning](tape); len(told) > 0 {
		t.Errorf("told %+v", told)
	}
}

// PIPE-23: what is put together for one call shares its name on purpose, and is not examined.
func TestOneOffsAndPassThroughsNeverWarn(t *testing.T) {
	var told []events.ConfigWarning
	cancel := events.Default().ConfigWarning.Subscribe(func(_ context.Context, e events.ConfigWarning) {
		name := e.Source.Pipeline()
		if (name == "one_off" || name == "pass_through") && e.Code != events.WarningNestedRetry { // which is seen in calls
			told = append(told, e)
		}
	})
	defer cancel()
	for range 3 {
		if err := resilience.Run(t.Context(), succeed, timeout(500*time.Millisecond), timeout(time.Second)); err != nil {
			t.Fatal(err)
		}
		if w := resilience.PassThrough[int]().Warnings(); len(w) > 0 {
			t.Errorf("a pass-through has %+v", w)
		}
	}
	if len(told) > 0 {
		t.Errorf("told %+v", told)
	}
}

// PIPE-23: what is rebuilt after Close has its name for itself.
func TestAPipelineThatIsRebuiltAfterCloseIsNoDuplicate(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	for range 3 {
		if err := ints(bus).Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if told := heard[events.ConfigWarning](tape); len(told) > 0 {
		t.Errorf("told %+v", told)
	}
	one, two := ints(bus), ints(bus)
	if w := two.Warnings(); len(w) != 1 || w[0].Code != events.WarningDuplicateName || w[0].Layers != nil || len(one.Warnings()) > 0 {
		t.Errorf("two at once have %+v and %+v", one.Warnings(), w)
	}
}

// PIPE-10
func TestTheGuideExplainsEveryWarning(t *testing.T) {
	page, err := os.ReadFile("../docs/warnings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range events.WarningCodes() {
		if !strings.Contains(string(page), "\n## "+code+"\n") {
			t.Errorf("docs/warnings.md has no heading %q", code)
		}
	}
}

// PIPE-10
func TestAWarningRoundTripsThroughJSON(t *testing.T) {
	for _, w := range []resilience.Warning{{Code: "c", Message: "m", Layers: []int{0, 2}}, {Code: "c", Message: "m"}} {
		text, err := json.Marshal(w)
		var back resilience.Warning
		if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, w) {
			t.Errorf("%s came back as %+v, %v", text, back, err)
		}
	}
}
