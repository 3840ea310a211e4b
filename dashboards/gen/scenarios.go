package main

import (
	"maps"
	"math"
	"time"
)

// value tells a series' value after a time.
type value func(after time.Duration) float64

// grows is a counter that grows by so much a second, from a moment on.
func grows(perSecond float64, from time.Duration) value {
	return func(after time.Duration) float64 { return math.Round(perSecond * max(0, after-from).Seconds()) }
}

func is(v float64) value { return func(time.Duration) float64 { return v } }

// steps is a counter that grows by one at every interval from a moment on.
func steps(every, from time.Duration) value {
	return func(after time.Duration) float64 { return math.Floor(float64(max(0, after-from)) / float64(every)) }
}

// series are values by name and labels, as Prometheus writes them without quotes: name{label=value,label=value}.
type series map[string]value

// healthy is a service that nothing ails: 20 calls a second.
var healthy = series{
	"resilience_executions_total{<pipeline>=orders,<outcome>=success}":                             grows(20, 0),
	"resilience_executions_total{<pipeline>=orders,<outcome>=failure}":                             is(0),
	"resilience_executions_total{<pipeline>=orders,<outcome>=rejected}":                            is(0),
	"resilience_attempts_total{<pipeline>=orders,<kind>=initial,<outcome>=success}":                grows(20, 0),
	"resilience_attempts_total{<pipeline>=orders,<kind>=retry,<outcome>=success}":                  grows(0.2, 0),
	"resilience_circuit_breaker_state{<layer>=db,<state>=closed}":                                  is(1),
	"resilience_circuit_breaker_state{<layer>=db,<state>=open}":                                    is(0),
	"resilience_circuit_breaker_state{<layer>=db,<state>=half_open}":                               is(0),
	"resilience_circuit_breaker_state{<layer>=db,<state>=forced_open}":                             is(0),
	"resilience_circuit_breaker_state{<layer>=db,<state>=disabled}":                                is(0),
	"resilience_circuit_breaker_transitions_total{<layer>=db,<state>=open,<reason>=ratio}":         is(0),
	"resilience_circuit_breaker_transitions_total{<layer>=db,<state>=half_open,<reason>=cooldown}": is(0),
	"resilience_circuit_breaker_transitions_total{<layer>=db,<state>=closed,<reason>=probes_ok}":   is(0),
	"resilience_limiter_usage{<layer>=pool}":                                                       is(10),
	"resilience_executions_total{<pipeline>=orders,<outcome>=fallback}":                            grows(0.2, 0),
	"resilience_retry_budget_available{<layer>=retries}":                                           is(50),
	"resilience_bus_dropped_events_total{<subscriber>=example.com/log}":                            is(0),
	"resilience_bus_handler_panics_total{<subscriber>=example.com/log}":                            is(0),
	"resilience_limiter_limit{<layer>=pool}":                                                       is(50),
}

// begins is when a scenario's trouble begins, lasts how long a scenario is in all.
const (
	begins = 10 * time.Minute
	lasts  = 40 * time.Minute
)

// after is a value that changes when the trouble begins.
func after(before, then float64) value {
	return func(t time.Duration) float64 {
		if t < begins {
			return before
		}
		return then
	}
}

// probing is 1 for the second in which a breaker with a cooldown of 20 s is half-open, 0 else; not is the opposite.
func probing(not bool) value {
	return func(t time.Duration) float64 {
		if t < begins || (t%(20*time.Second) < time.Second) == not {
			return 0
		}
		return 1
	}
}

// scenario is what happens to a service, and the one alert that has to tell it.
type scenario struct {
	alert  string        // "": none fires
	within time.Duration // of the trouble's beginning
	with   series        // what differs from the healthy service
}

// scenarios are what each alert is for, and what is none of its business.
var scenarios = []scenario{
	{alert: ""},
	{alert: "ResilienceBreakerNotClosed", within: 7 * time.Minute, with: series{ // the probes make it half-open for moments
		"resilience_circuit_breaker_state{<layer>=db,<state>=closed}":                                  after(1, 0),
		"resilience_circuit_breaker_state{<layer>=db,<state>=open}":                                    probing(true),
		"resilience_circuit_breaker_state{<layer>=db,<state>=half_open}":                               probing(false),
		"resilience_circuit_breaker_transitions_total{<layer>=db,<state>=open,<reason>=ratio}":         steps(20*time.Second, begins),
		"resilience_circuit_breaker_transitions_total{<layer>=db,<state>=half_open,<reason>=cooldown}": steps(20*time.Second, begins),
	}},
	{alert: "", with: series{ // open, and nobody calls
		"resilience_circuit_breaker_state{<layer>=db,<state>=closed}":    is(0),
		"resilience_circuit_breaker_state{<layer>=db,<state>=half_open}": is(1),
	}},
	{alert: "", with: series{ // an opening that heals at once
		"resilience_circuit_breaker_transitions_total{<layer>=db,<state>=open,<reason>=ratio}":         after(0, 1),
		"resilience_circuit_breaker_transitions_total{<layer>=db,<state>=half_open,<reason>=cooldown}": after(0, 1),
		"resilience_circuit_breaker_transitions_total{<layer>=db,<state>=closed,<reason>=probes_ok}":   after(0, 1),
	}},
	{alert: "ResilienceBreakerForcedOpen", within: 17 * time.Minute, with: series{
		"resilience_circuit_breaker_state{<layer>=db,<state>=closed}":      after(1, 0),
		"resilience_circuit_breaker_state{<layer>=db,<state>=forced_open}": after(0, 1),
	}},
	{alert: "ResilienceBreakerFlapping", within: 10 * time.Minute, with: series{
		"resilience_circuit_breaker_transitions_total{<layer>=db,<state>=open,<reason>=ratio}":         steps(2*time.Minute, begins),
		"resilience_circuit_breaker_transitions_total{<layer>=db,<state>=half_open,<reason>=cooldown}": steps(2*time.Minute, begins),
		"resilience_circuit_breaker_transitions_total{<layer>=db,<state>=closed,<reason>=probes_ok}":   steps(2*time.Minute, begins),
	}},
	{alert: "ResilienceRetryStorm", within: 7 * time.Minute, with: series{
		"resilience_attempts_total{<pipeline>=orders,<kind>=retry,<outcome>=failure}": grows(40, begins),
	}},
	{alert: "ResilienceRetryBudgetDrained", within: 7 * time.Minute, with: series{
		"resilience_retry_budget_available{<layer>=retries}": after(50, 0),
	}},
	{alert: "", with: series{ // drained for a moment
		"resilience_retry_budget_available{<layer>=retries}": func(t time.Duration) float64 {
			if t >= begins && t < begins+2*time.Minute {
				return 0
			}
			return 50
		},
	}},
	{alert: "ResilienceOnlyFallback", within: 12 * time.Minute, with: series{
		"resilience_executions_total{<pipeline>=orders,<outcome>=fallback}": grows(40, begins),
	}},
	{alert: "ResilienceEventsLost", within: 2 * time.Minute, with: series{
		"resilience_bus_dropped_events_total{<subscriber>=example.com/log}": after(0, 7),
	}},
	{alert: "ResilienceEventsLost", within: 2 * time.Minute, with: series{
		"resilience_bus_handler_panics_total{<subscriber>=example.com/log}": after(0, 1),
	}},
	{alert: "ResilienceCallsRejected", within: 8 * time.Minute, with: series{
		"resilience_executions_total{<pipeline>=orders,<outcome>=rejected}": grows(10, begins),
	}},
	{alert: "ResilienceBulkheadSaturated", within: 10 * time.Minute, with: series{
		"resilience_limiter_usage{<layer>=pool}": after(10, 48),
	}},
}

// all are the series of the scenario, those of the healthy service included.
func (s scenario) all() series {
	all := maps.Clone(healthy)
	maps.Copy(all, s.with)
	return all
}
