package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// unlike are two values of one configuration that differ in a single field.
type unlike[C any] struct{ without, with C }

// untold is why a field is in no settings.
type untold string

const (
	theName   untold = "it is told as the layer's name"
	theBus    untold = "it is where the settings are told"
	aFunction untold = "what a function does cannot be told, and nothing else changes with it"
)

// tells checks that what is told of a layer's settings changes with every field of C, but for those that have a reason.
func tells[C any](t *testing.T, layer func(*events.Bus, C) resilience.Layer, rows map[string]any) {
	t.Helper()
	config := reflect.TypeFor[C]()
	for i := range config.NumField() {
		if !config.Field(i).IsExported() {
			continue
		}
		name := config.Field(i).Name
		var pair unlike[C]
		switch row := rows[name].(type) {
		case nil:
			t.Errorf("%v.%s has no row: is it told?", config, name)
			continue
		case untold:
			delete(rows, name)
			continue
		case C:
			pair.with = row
		case unlike[C]:
			pair = row
		default:
			t.Fatalf("%v.%s: a row is not a %T", config, name, row)
		}
		delete(rows, name)
		if a, b := fmt.Sprint(reflect.ValueOf(pair.without).Field(i)), fmt.Sprint(reflect.ValueOf(pair.with).Field(i)); a == b {
			t.Errorf("%v.%s: the row does not change it", config, name)
		}
		without, with := settingsOf(layer, pair.without), settingsOf(layer, pair.with)
		if without == with {
			t.Errorf("%v.%s: told as %s with and without it", config, name, with)
		}
	}
	for name := range rows {
		t.Errorf("%v.%s does not exist", config, name)
	}
}

// settingsOf joins what the sources of a pipeline with the layer tell of their settings.
func settingsOf[C any](layer func(*events.Bus, C) resilience.Layer, cfg C) string {
	bus := events.NewBus()
	p := ints(bus, layer(bus, cfg))
	var all []string
	bus.Source.Observe(func(_ context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
		all = append(all, e.Source.Settings())
		for _, l := range e.Source.Layers() {
			all = append(all, l.Settings())
		}
		return nil
	})
	_ = p.Describe()
	return strings.Join(all, "; ")
}

func plainly[L resilience.Layer](_ *events.Bus, l L) resilience.Layer { return l }

// PIPE-18: nobody has to guess what a layer was told to do.
func TestEverySettingOfALayerIsToldOrHasAReason(t *testing.T) {
	yes := func(error) bool { return true }
	budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "extra", Bus: events.Off()})
	learn := resilience.MustLearnedDelay(resilience.LearnedDelayConfig{})
	tells(t, plainly[resilience.Retry], map[string]any{
		"Name": theName, "Delay": aFunction, "If": aFunction, "OnRetry": aFunction, "Rand": aFunction,
		"MaxAttempts":     resilience.Retry{MaxAttempts: 7},
		"Backoff":         resilience.Retry{Backoff: resilience.Constant(time.Second)},
		"Jitter":          resilience.Retry{Jitter: resilience.JitterFull},
		"MaxDelay":        resilience.Retry{MaxDelay: time.Second},
		"RetryRejections": resilience.Retry{RetryRejections: true},
		"StopOnLongHint":  resilience.Retry{StopOnLongHint: true},
		"IgnoreDeadline":  resilience.Retry{IgnoreDeadline: true},
		"Budget":          resilience.Retry{Budget: budget},
	})
	tells(t, plainly[resilience.Hedge], map[string]any{
		"Name": theName, "If": aFunction, "OnHedge": aFunction,
		"MaxAttempts": resilience.Hedge{MaxAttempts: 7}, "Delay": resilience.Hedge{Delay: time.Minute}, "Learn": resilience.Hedge{Learn: learn},
		"Budget": resilience.Hedge{Budget: budget}, "WaitLosers": resilience.Hedge{WaitLosers: true},
	})
	type limit = resilience.Timeout
	tells(t, plainly[limit], map[string]any{
		"Name": theName, "After": limit{After: time.Second}, "Abandon": limit{Abandon: true},
		"MaxAbandoned": unlike[limit]{limit{Abandon: true}, limit{Abandon: true, MaxAbandoned: 7}},
	})
	value := resilience.FallbackValue(1)
	tells(t, plainly[resilience.Fallback[int]], map[string]any{"Name": theName, "To": aFunction,
		"If": unlike[resilience.Fallback[int]]{value, resilience.Fallback[int]{To: value.To, If: yes}}})
	tells(t, func(_ *events.Bus, c resilience.SingleflightConfig) resilience.Layer {
		return resilience.MustSingleflight(c)
	},
		map[string]any{"Name": theName, "Key": resilience.SingleflightConfig{Key: func(context.Context) string { return "" }}})
	type learning = resilience.LearnedDelayConfig
	tells(t, func(_ *events.Bus, c learning) resilience.Layer {
		return resilience.Hedge{Learn: resilience.MustLearnedDelay(c)}
	}, map[string]any{
		"Quantile": learning{Quantile: 0.5}, "Min": learning{Min: time.Second}, "Max": learning{Max: time.Minute},
		"Window": learning{Window: time.Hour}, "MinSamples": learning{MinSamples: 100},
	})
}

// PIPE-18: nor of what is shared.
func TestEverySettingOfSharedStateIsToldOrHasAReason(t *testing.T) {
	type breaking = resilience.BreakerConfig
	ratio := breaking{FailureRatio: 0.5}
	tells(t, func(bus *events.Bus, c breaking) resilience.Layer {
		c.Name, c.Bus = "db", bus
		return resilience.MustBreaker(c)
	}, map[string]any{
		"Name": theName, "Bus": theBus, "FailureIf": aFunction, "CooldownFunc": aFunction,
		"ConsecutiveFailures": breaking{ConsecutiveFailures: 7}, "FailureRatio": ratio,
		"SlowCall": breaking{SlowCall: time.Second}, "SlowRatio": unlike[breaking]{breaking{SlowCall: time.Second}, breaking{SlowCall: time.Second, SlowRatio: 0.7}},
		"MinCalls":       unlike[breaking]{ratio, breaking{FailureRatio: 0.5, MinCalls: 7}},
		"Window":         unlike[breaking]{ratio, breaking{FailureRatio: 0.5, Window: time.Minute}},
		"WindowCalls":    unlike[breaking]{ratio, breaking{FailureRatio: 0.5, WindowCalls: 7}},
		"CountDeadlines": breaking{CountDeadlines: true}, "Cooldown": breaking{Cooldown: time.Minute}, "Probes": breaking{Probes: 7},
		"ProbeSuccesses": breaking{ProbeSuccesses: 7}, "MaxProbeTime": breaking{MaxProbeTime: time.Hour}, "Shadow": breaking{Shadow: true},
	})
	type rooming = resilience.BulkheadConfig
	tells(t, func(bus *events.Bus, c rooming) resilience.Layer {
		c.Name, c.Bus = "room", bus
		return resilience.MustBulkhead(c)
	}, map[string]any{
		"Name": theName, "Bus": theBus, "MaxConcurrent": rooming{MaxConcurrent: 7}, "MaxQueue": rooming{MaxQueue: 7},
		"MaxWait": unlike[rooming]{rooming{MaxQueue: 7}, rooming{MaxQueue: 7, MaxWait: time.Second}},
	})
	type rating = resilience.RateLimiterConfig
	one := rating{Rate: 1}
	tells(t, func(bus *events.Bus, c rating) resilience.Layer {
		c.Name, c.Bus = "quota", bus
		return resilience.MustRateLimiter(c)
	}, map[string]any{
		"Name": theName, "Bus": theBus, "Rate": unlike[rating]{one, rating{Rate: 7}}, "Per": unlike[rating]{one, rating{Rate: 1, Per: time.Minute}},
		"Burst": unlike[rating]{one, rating{Rate: 1, Burst: 7}}, "MaxWait": unlike[rating]{one, rating{Rate: 1, MaxWait: time.Second}},
	})
	type adapting = resilience.AdaptiveLimiterConfig
	tells(t, func(bus *events.Bus, c adapting) resilience.Layer {
		c.Name, c.Bus = "load", bus
		return resilience.MustAdaptiveLimiter(c)
	}, map[string]any{"Name": theName, "Bus": theBus, "OverloadIf": aFunction,
		"Initial": adapting{Initial: 7}, "Min": adapting{Min: 7}, "Max": adapting{Max: 70}})
	type keying = resilience.KeyedConfig
	tells(t, func(bus *events.Bus, c keying) resilience.Layer {
		c.Name, c.Bus = "hosts", bus
		if c.New == nil {
			c.New = func(string) (resilience.Gate, error) { return emptyRoom(events.Off()), nil }
		}
		return resilience.MustKeyed(c)
	}, map[string]any{"Name": theName, "Bus": theBus, "Key": aFunction,
		"New": keying{New: func(string) (resilience.Gate, error) {
			return resilience.NewBulkhead(resilience.BulkheadConfig{Name: "small", MaxConcurrent: 1, Bus: events.Off()})
		}}, "MaxKeys": keying{MaxKeys: 7}, "IdleAfter": keying{IdleAfter: time.Hour}})
	type disturbing = resilience.ChaosConfig
	failing := disturbing{Rate: 1, Err: errors.New("drill"), Seed: 1}
	with := func(change func(*disturbing)) unlike[disturbing] {
		changed := failing
		change(&changed)
		return unlike[disturbing]{failing, changed}
	}
	tells(t, func(bus *events.Bus, c disturbing) resilience.Layer {
		c.Name, c.Bus = "drill", bus
		return resilience.MustChaos(c)
	}, map[string]any{"Name": theName, "Bus": theBus, "If": aFunction,
		"Rate":    with(func(c *disturbing) { c.Rate = 0.5 }),
		"Latency": with(func(c *disturbing) { c.Latency = time.Second }),
		"MaxLatency": unlike[disturbing]{disturbing{Rate: 1, Latency: time.Second, Seed: 1},
			disturbing{Rate: 1, Latency: time.Second, MaxLatency: time.Minute, Seed: 1}},
		"Err":   unlike[disturbing]{disturbing{Rate: 1, Latency: time.Second, Seed: 1}, disturbing{Rate: 1, Latency: time.Second, Err: errBoom, Seed: 1}},
		"Value": unlike[disturbing]{disturbing{Rate: 1, Latency: time.Second, Seed: 1}, disturbing{Rate: 1, Latency: time.Second, Value: 7, Seed: 1}},
		"Panic": unlike[disturbing]{disturbing{Rate: 1, Latency: time.Second, Seed: 1}, disturbing{Rate: 1, Latency: time.Second, Panic: "oh", Seed: 1}},
		"Keys":  with(func(c *disturbing) { c.Keys = []string{"a"} }),
		"Seed":  with(func(c *disturbing) { c.Seed = 2 }), "Enabled": with(func(c *disturbing) { c.Enabled = true }),
	})
	type extra = resilience.RetryBudgetConfig
	tells(t, func(bus *events.Bus, c extra) resilience.Layer {
		c.Name, c.Bus = "extra", bus
		return resilience.Retry{Budget: resilience.MustRetryBudget(c)}
	}, map[string]any{"Name": theName, "Bus": theBus, "Tokens": extra{Tokens: 7}, "Ratio": extra{Ratio: 2}, "Allowance": extra{Allowance: 7},
		"Window": unlike[extra]{extra{Allowance: 7}, extra{Allowance: 7, Window: time.Hour}}})
}
