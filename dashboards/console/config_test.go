package console

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-09: options are validated when the console is built.
func TestEachOptionIsCheckedWhenTheConsoleIsBuilt(t *testing.T) {
	rows := map[string][]Config{
		"MaxViewers": {{MaxViewers: -1}, {MaxViewers: 1001}, {MaxViewers: math.MaxInt}, {MaxViewers: math.MinInt}},
		"Events":     {{Events: -1}, {Events: 10001}, {Events: math.MaxInt}, {Events: math.MinInt}},
		"History":    {{History: -1}, {History: time.Minute - 1}, {History: 24*time.Hour + 1}, {History: math.MaxInt64}, {History: math.MinInt64}},
	}
	typ := reflect.TypeFor[Config]()
	for i := range typ.NumField() {
		field := typ.Field(i).Name
		if len(rows[field]) == 0 {
			t.Errorf("Config.%s has no row: which values are refused?", field)
		}
		for _, cfg := range rows[field] {
			_, err := New(events.NewBus(), cfg)
			var e *resilience.ConfigError
			if !errors.As(err, &e) || e.Type != "console.Config" || e.Field != field || e.Value != reflect.ValueOf(cfg).Field(i).Interface() || e.Allowed == "" {
				t.Errorf("Config.%s = %v: %v", field, reflect.ValueOf(cfg).Field(i), err)
			}
		}
	}
	if _, err := New(events.NewBus(), Config{MaxViewers: -1, Events: -1, History: -1}); strings.Count(err.Error(), "must be") != 3 {
		t.Errorf("three wrong options: %v", err)
	}
}

func TestTheLargestAndSmallestOptionsWork(t *testing.T) {
	for _, cfg := range []Config{{}, {MaxViewers: 1, Events: 1, History: time.Minute}, {MaxViewers: 1000, Events: 10000, History: 24 * time.Hour}} {
		inBubble(t, cfg, func(r *rig) {
			_, _ = r.pipeline("p", r.breaker("b")).Do(r.t.Context(), fail)
			r.get("/")
			time.Sleep(3 * time.Second)
			if got := r.getState(); len(got.Pipelines) != 1 || got.History != r.cfg.History.Seconds() {
				t.Errorf("%+v: %+v", cfg, got)
			}
		})
	}
}

func TestABusThatNobodyCouldListenToIsRefused(t *testing.T) {
	for name, bus := range map[string]*events.Bus{"nil bus": nil, "NewBus": new(events.Bus)} {
		if _, err := New(bus, Config{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		func() {
			defer func() {
				if err, ok := recover().(error); !ok || !strings.HasPrefix(err.Error(), "console") || !strings.Contains(err.Error(), name) {
					t.Errorf("%s: Handler panics with %v", name, err)
				}
			}()
			Handler(bus)
		}()
	}
}

func TestTheSilentBusShowsNothing(t *testing.T) {
	c := Handler(events.Off()).(*Console)
	r := &rig{t: t, bus: events.Off(), Console: c}
	if s := r.getState(); len(s.Pipelines)+len(s.Breakers) != 0 {
		t.Errorf("%+v", s)
	}
	r.closes()
}
