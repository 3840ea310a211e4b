package resilience_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// shortRows has a row for every duration of every layer.
func shortRows() (rows []warned) {
	const almost, enough = time.Millisecond - 1, time.Millisecond
	add := func(field string, with func(bus *events.Bus, d time.Duration) resilience.Layer) {
		row := func(d time.Duration) func(bus *events.Bus) layers {
			return func(bus *events.Bus) layers { return layers{with(bus, d)} }
		}
		rows = append(rows, warned{code: events.WarningShortDuration, at: []int{0}, says: field + " is 999.999µs", odd: row(almost), normal: row(enough)},
			warned{code: events.WarningShortDuration, at: []int{0}, says: field + " is 500ns: is its unit missing? A plain number is nanoseconds (500 * time.Millisecond)",
				odd: row(500), normal: row(0)})
	}
	add("Timeout.After", func(_ *events.Bus, d time.Duration) resilience.Layer { return timeout(d) })
	retry := func(with func(d time.Duration) resilience.Retry) func(*events.Bus, time.Duration) resilience.Layer {
		return func(_ *events.Bus, d time.Duration) resilience.Layer { return with(d) }
	}
	add("Retry.MaxDelay", retry(func(d time.Duration) resilience.Retry { return resilience.Retry{MaxDelay: d} }))
	add("Retry.Backoff.Base", retry(func(d time.Duration) resilience.Retry {
		return resilience.Retry{Backoff: &resilience.Exponential{Base: d}}
	}))
	add("Retry.Backoff.Step", retry(func(d time.Duration) resilience.Retry { return resilience.Retry{Backoff: resilience.Linear{Step: d}} }))
	add("Retry.Backoff", retry(func(d time.Duration) resilience.Retry { return resilience.Retry{Backoff: resilience.Constant(d)} }))
	b := func(with func(cfg *resilience.BreakerConfig, d time.Duration)) func(*events.Bus, time.Duration) resilience.Layer {
		return func(bus *events.Bus, d time.Duration) resilience.Layer {
			cfg := resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, Bus: bus}
			with(&cfg, d)
			return resilience.MustBreaker(cfg)
		}
	}
	add("BreakerConfig.Window", b(func(cfg *resilience.BreakerConfig, d time.Duration) { cfg.Window = d }))
	add("BreakerConfig.SlowCall", b(func(cfg *resilience.BreakerConfig, d time.Duration) { cfg.SlowCall = d }))
	add("BreakerConfig.Cooldown", b(func(cfg *resilience.BreakerConfig, d time.Duration) { cfg.Cooldown = d }))
	add("BreakerConfig.MaxProbeTime", b(func(cfg *resilience.BreakerConfig, d time.Duration) { cfg.MaxProbeTime = d }))
	add("BulkheadConfig.MaxWait", func(bus *events.Bus, d time.Duration) resilience.Layer {
		return resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxQueue: 1, MaxWait: d, Bus: bus})
	})
	limiter := func(with func(cfg *resilience.RateLimiterConfig, d time.Duration)) func(*events.Bus, time.Duration) resilience.Layer {
		return func(bus *events.Bus, d time.Duration) resilience.Layer {
			cfg := resilience.RateLimiterConfig{Name: "quota", Rate: 1, Bus: bus}
			with(&cfg, d)
			return resilience.MustRateLimiter(cfg)
		}
	}
	add("RateLimiterConfig.Per", limiter(func(cfg *resilience.RateLimiterConfig, d time.Duration) { cfg.Per = d }))
	add("RateLimiterConfig.MaxWait", limiter(func(cfg *resilience.RateLimiterConfig, d time.Duration) { cfg.MaxWait = d }))
	add("Hedge.Delay", func(_ *events.Bus, d time.Duration) resilience.Layer { return resilience.Hedge{Delay: d} })
	learn := func(with func(cfg *resilience.LearnedDelayConfig, d time.Duration)) func(*events.Bus, time.Duration) resilience.Layer {
		return func(_ *events.Bus, d time.Duration) resilience.Layer {
			cfg := resilience.LearnedDelayConfig{Min: 1}
			with(&cfg, d)
			return resilience.Hedge{Learn: resilience.MustLearnedDelay(cfg)}
		}
	}
	add("LearnedDelayConfig.Max", learn(func(cfg *resilience.LearnedDelayConfig, d time.Duration) { cfg.Max = d }))
	add("LearnedDelayConfig.Window", learn(func(cfg *resilience.LearnedDelayConfig, d time.Duration) { cfg.Window = d }))
	return rows
}

// PIPE-10: every duration among the options has its row.
func TestEveryDurationIsCheckedForAMissingUnit(t *testing.T) {
	var rows []string
	for _, row := range shortRows() {
		field, _, _ := strings.Cut(row.says, " ")
		rows = append(rows, field)
	}
	durations := 0
	for _, config := range []reflect.Type{reflect.TypeFor[resilience.Timeout](), reflect.TypeFor[resilience.Retry](), reflect.TypeFor[resilience.Hedge](),
		reflect.TypeFor[resilience.BreakerConfig](), reflect.TypeFor[resilience.BulkheadConfig](), reflect.TypeFor[resilience.RateLimiterConfig]()} {
		for i := range config.NumField() {
			if field := config.Field(i); field.Type == reflect.TypeFor[time.Duration]() {
				durations++
				if !slices.Contains(rows, config.Name()+"."+field.Name) {
					t.Errorf("%s.%s has no row", config.Name(), field.Name)
				}
			}
		}
	}
	if durations < 8 {
		t.Errorf("found only %d durations", durations)
	}
}
