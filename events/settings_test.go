package events_test

import (
	"context"
	"testing"

	"github.com/telltale-go/telltale/events"
)

type counted struct{ asked *int }

func (c counted) String() string { *c.asked++; return "written when asked" }

// BUS-10: settings that are written when asked are not before, and the copy of a source that is gone still has them.
func TestSettingsAreWrittenWhenAsked(t *testing.T) {
	bus := events.NewBus()
	asked := 0
	s := bus.NewSource(events.SourceSpec{Layer: "db", Type: events.TypeBreaker, SettingsOf: counted{&asked}})
	var left *events.Source
	bus.Source.Observe(func(context.Context, events.SourceAdded) func(context.Context, events.SourceRemoved) {
		return func(_ context.Context, e events.SourceRemoved) { left = e.Source }
	})
	if asked != 0 {
		t.Errorf("written %d times before anybody asked", asked)
	}
	bus.Remove(s)
	if s.Settings() != "written when asked" || left.Settings() != "written when asked" || asked != 2 {
		t.Errorf("%q, then %q, written %d times", s.Settings(), left.Settings(), asked)
	}
	if none := bus.NewSource(events.SourceSpec{Layer: "db"}); none.Settings() != "" {
		t.Errorf("settings %q of none", none.Settings())
	}
}

// SLOG-01: what is told of slow calls is told where they are counted, and a shadow says that it is one.
func TestBreakerTellsSlowCallsWhereTheyAreCounted(t *testing.T) {
	field := func(e events.Event, key string) any {
		for _, f := range events.Fields(e) {
			if f.Key == key {
				return f.Value
			}
		}
		return nil
	}
	e := events.BreakerStateChanged{SlowCalls: 3, SlowRatio: 0.75, SlowLimit: 0.5, Shadow: true}
	if field(e, events.KeySlowCalls) != int64(3) || field(e, events.KeySlowRatio) != 0.75 || field(e, events.KeySlowLimit) != 0.5 || field(e, events.KeyShadow) != "true" {
		t.Errorf("%v", events.Fields(e))
	}
	e = events.BreakerStateChanged{}
	for _, key := range []string{events.KeySlowCalls, events.KeySlowRatio, events.KeySlowLimit, events.KeyShadow} {
		if v := field(e, key); v != nil {
			t.Errorf("%s is %v where nobody counts slow calls", key, v)
		}
	}
}
