package events_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
)

func shared(name, typ string) events.SourceSpec { return events.SourceSpec{Layer: name, Type: typ} }

// codesOf returns the codes of what is kept of a source.
func codesOf(s *events.Source) (codes []string) {
	for _, w := range s.Warnings() {
		codes = append(codes, w.Code)
	}
	return codes
}

// PIPE-23
func TestTwoLiveSourcesOfOneIdentityAreWarnedOf(t *testing.T) {
	anonymous := named("p")
	anonymous.Namesakes = true
	for name, test := range map[string]struct {
		first, second events.SourceSpec
		warned        bool
	}{
		"pipelines":                       {named("p"), named("p", "other", "layers"), true},
		"pipelines of other names":        {named("p"), named("q"), false},
		"shared state":                    {shared("db", events.TypeBreaker), shared("db", events.TypeBreaker), true},
		"shared state of other types":     {shared("db", events.TypeBreaker), shared("db", events.TypeBulkhead), false},
		"shared state of other names":     {shared("db", events.TypeBreaker), shared("db2", events.TypeBreaker), false},
		"a pipeline and shared state":     {named("db"), shared("db", events.TypeBreaker), false},
		"one that may have namesakes":     {named("p"), anonymous, false},
		"the other may have namesakes":    {anonymous, named("p"), false},
		"both may have namesakes":         {anonymous, anonymous, false},
		"layers of one name in pipelines": {named("p", "layer"), named("q", "layer"), false},
	} {
		t.Run(name, func(t *testing.T) {
			bus := events.NewBus()
			var told []string
			bus.ConfigWarning.Subscribe(hear(&told))
			first, second := bus.NewSource(test.first), bus.NewSource(test.second)
			if len(first.Warnings()) > 0 {
				t.Errorf("the first was warned of: %v", codesOf(first))
			}
			var want []string
			if test.warned {
				want = []string{events.WarningDuplicateName}
				name := strings.TrimSuffix(test.second.Pipeline+test.second.Layer, "layers")
				if text := second.Warnings()[0].Message; !strings.Contains(text, fmt.Sprintf("%q", name)) || !strings.Contains(text, test.second.Type) {
					t.Errorf("the message does not name it: %s", text)
				}
			}
			if !slices.Equal(codesOf(second), want) || !slices.Equal(told, want) {
				t.Errorf("kept %v, told %v, want %v", codesOf(second), told, want)
			}
			other := events.NewBus().NewSource(test.second)
			if len(other.Warnings()) > 0 {
				t.Error("one on another bus was warned of")
			}
			bus.Remove(first)
			bus.Remove(second)
			if again := bus.NewSource(test.second); len(again.Warnings()) > 0 {
				t.Errorf("after the end of both: %v", codesOf(again))
			}
		})
	}
}

// PIPE-23
func TestADroppedNamesakeIsForgotten(t *testing.T) {
	bus := events.NewBus()
	gone, cancel := leaving(bus)
	defer cancel()
	func() { bus.NewSource(named("p")) }()
	done := make(chan struct{})
	go func() { <-gone; close(done) }()
	collect(t, done)
	if p := bus.NewSource(named("p")); len(p.Warnings()) > 0 {
		t.Errorf("warned of one that was collected: %v", codesOf(p))
	}
}

// PIPE-10: 100 of one name may be an oversight, more are made for each call. Neither fills the logs.
func TestMoreThanAHundredLiveSourcesOfOneNameAreWarnedOfOnce(t *testing.T) {
	bus := events.NewBus()
	told := map[string]int{}
	bus.ConfigWarning.Subscribe(func(_ context.Context, e events.ConfigWarning) { told[e.Code]++ })
	var all []*events.Source
	for i := 1; i <= 300; i++ {
		all = append(all, bus.NewSource(named("p")))
		switch i {
		case 100:
			if told[events.WarningDuplicateName] != 99 || told[events.WarningManySources] != 0 {
				t.Fatalf("at 100: %v", told)
			}
		case 101:
			if codes := codesOf(all[100]); len(codes) != 1 || codes[0] != events.WarningManySources {
				t.Fatalf("the 101st has %v", codes)
			}
		}
	}
	if told[events.WarningDuplicateName] != 99 || told[events.WarningManySources] != 1 {
		t.Fatalf("at 300: %v", told)
	}
	for _, s := range all[1:] {
		bus.Remove(s)
	}
	for range 300 { // one that lives, and one that comes and goes
		bus.Remove(bus.NewSource(named("p")))
	}
	if told[events.WarningDuplicateName] != 99 || told[events.WarningManySources] != 1 {
		t.Errorf("while they come and go: %v", told)
	}
	bus.Remove(all[0])
	first := bus.NewSource(named("p"))
	bus.NewSource(named("p"))
	if told[events.WarningDuplicateName] != 100 {
		t.Errorf("after all had gone: %v", told)
	}
	bus.Remove(first)
}

// PIPE-23: what makes and closes a pipeline beside another all the time is not told of for ever.
func TestANameThatComesAndGoesBesideAnotherIsWarnedOfAHundredTimes(t *testing.T) {
	bus := events.NewBus()
	told := 0
	bus.ConfigWarning.Subscribe(func(context.Context, events.ConfigWarning) { told++ })
	first, second := bus.NewSource(named("p")), bus.NewSource(named("p"))
	for range 300 {
		bus.Remove(bus.NewSource(named("p")))
	}
	if told != 100 {
		t.Errorf("told %d times", told)
	}
	bus.Remove(first)
	bus.Remove(second)
}

func TestASourcesIDIsItsOwn(t *testing.T) {
	bus := events.NewBus()
	seen := map[uint64]bool{}
	for range 10 {
		for _, b := range []*events.Bus{bus, events.Off()} {
			s := b.NewSource(named("p", "layer"))
			if seen[s.ID()] || seen[s.Layers()[0].ID()] || s.ID() == s.Layers()[0].ID() {
				t.Fatalf("ID %d or %d was used before", s.ID(), s.Layers()[0].ID())
			}
			seen[s.ID()], seen[s.Layers()[0].ID()] = true, true
			b.Remove(s)
		}
	}
}
