package promres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/version"
)

// PROM-01: the state is the source's, whatever events came or did not come.
func TestStateIsReadAtTheScrape(t *testing.T) {
	r := newRig(t, Config{})
	b := r.breaker("db")
	for _, state := range []events.State{events.StateClosed, events.StateOpen, events.StateHalfOpen, events.StateOpen,
		events.StateForcedOpen, events.StateClosed} {
		b.set(func(reading *events.BreakerReading) { reading.State = state })
		for _, other := range events.States() {
			want := 0.0
			if other == state {
				want = 1
			}
			r.want(map[string]float64{fmt.Sprintf(`circuit_breaker_state{circuit_breaker_state=%q,layer_name="db"}`, other): want})
		}
	}
}

// PROM-01: an event that arrives late, or out of order, changes no gauge.
func TestLateEventsDoNotMoveTheState(t *testing.T) {
	r := newRig(t, Config{})
	b := r.breaker("db")
	b.set(func(reading *events.BreakerReading) { reading.State = events.StateClosed })
	r.bus.BreakerStateChanged.Publish(context.Background(), events.BreakerStateChanged{Meta: events.Meta{Source: b.source},
		From: events.StateClosed, To: events.StateOpen, Reason: events.ReasonConsecutive})
	r.want(map[string]float64{
		`circuit_breaker_state{circuit_breaker_state="closed",layer_name="db"}`:                                1,
		`circuit_breaker_state{circuit_breaker_state="open",layer_name="db"}`:                                  0,
		`circuit_breaker_transitions_total{circuit_breaker_state="open",layer_name="db",reason="consecutive"}`: 1,
	})
}

func TestReadingsAreShownInBaseUnits(t *testing.T) {
	r := newRig(t, Config{})
	b := r.breaker("db")
	since := time.Unix(1_800_000_000, 500_000_000)
	b.set(func(reading *events.BreakerReading) {
		*reading = events.BreakerReading{State: events.StateOpen, Since: since, NextProbe: since.Add(30 * time.Second), Calls: 40,
			Failures: 30, FailureRatio: 0.75, Limit: 0.5, Cooldown: 30 * time.Second}
		reading.Spent[events.StateClosed] = 90 * time.Second
		reading.Spent[events.StateOpen] = 1500 * time.Millisecond
	})
	r.limiter("pool", events.LimiterReading{Limit: 10, Usage: 7, Queued: 2})
	r.want(map[string]float64{
		`circuit_breaker_state_time_seconds_total{circuit_breaker_state="closed",layer_name="db"}`:    90,
		`circuit_breaker_state_time_seconds_total{circuit_breaker_state="open",layer_name="db"}`:      1.5,
		`circuit_breaker_state_time_seconds_total{circuit_breaker_state="half_open",layer_name="db"}`: 0,
		`circuit_breaker_state_change_time_seconds{layer_name="db"}`:                                  1_800_000_000.5,
		`circuit_breaker_next_probe_time_seconds{layer_name="db"}`:                                    1_800_000_030.5,
		`circuit_breaker_failure_ratio{layer_name="db"}`:                                              0.75,
		`circuit_breaker_failure_ratio_limit{layer_name="db"}`:                                        0.5,
		`circuit_breaker_window_calls{layer_name="db"}`:                                               40,
		`circuit_breaker_cooldown_seconds{layer_name="db"}`:                                           30,
		`limiter_limit{layer_name="pool"}`:                                                            10,
		`limiter_usage{layer_name="pool"}`:                                                            7,
		`limiter_queued{layer_name="pool"}`:                                                           2,
	})
	b.set(func(reading *events.BreakerReading) { reading.NextProbe = time.Time{} })
	r.want(map[string]float64{`circuit_breaker_next_probe_time_seconds{layer_name="db"}`: 0})
}

func TestLayersTellWhatTheyAre(t *testing.T) {
	r := newRig(t, Config{})
	b := r.breaker("db")
	r.keep(r.bus.NewSource(events.SourceSpec{Pipeline: "users", Type: events.TypePipeline, Layers: []events.SourceSpec{
		{Pipeline: "users", Layer: "retry", Type: events.TypeRetry, Position: 0, Settings: "max_attempts=3"},
		{Pipeline: "users", Layer: "db", Type: events.TypeBreaker, Position: 1, Shared: b.source},
	}}))
	r.want(map[string]float64{
		`layer_info{layer_name="retry",layer_position="0",layer_settings="max_attempts=3",layer_shared="",layer_type="retry",pipeline_name="users"}`: 1,
		`layer_info{layer_name="db",layer_position="1",layer_settings="",layer_shared="db",layer_type="circuit_breaker",pipeline_name="users"}`:      1,
	})
	r.want(map[string]float64{fmt.Sprintf("build_info{version=%q}", version.Built()): 1})
}

// A state whose reading panics fails the scrape, visibly, and nothing else.
func TestPanickingReadingFailsTheScrapeOnly(t *testing.T) {
	r := newRig(t, Config{})
	bad := r.bus.NewSource(events.SourceSpec{Layer: "bad", Type: events.TypeBulkhead, Limiter: func() events.LimiterReading { panic("x") }})
	r.limiter("good", events.LimiterReading{Limit: 1})
	families, err := r.reg.Gather()
	if err == nil || !strings.Contains(err.Error(), `the reading of layer "bad" panicked`) {
		t.Errorf("Gather: %v", err)
	}
	found := false
	for _, f := range families {
		found = found || f.GetName() == "resilience_limiter_limit"
	}
	if !found {
		t.Error("the other limiter is missing")
	}
	r.bus.Remove(bad)
	r.want(map[string]float64{`limiter_limit{layer_name="good"}`: 1})
}
