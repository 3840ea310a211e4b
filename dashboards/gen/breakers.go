package main

import "strings"

// allBreakers are the states of every breaker of the targets, where there is no variable to choose one.
var allBreakers = strings.ReplaceAll(breakerStates, "@b", "@t")

// breakers is the board that tells what the circuit breakers do.
var breakers = board{
	File: "breakers.json", UID: "resilience-breakers", Title: "Resilience / Circuit breakers",
	Doc:       "Each circuit breaker over time: its state, why it changed, what it measures against where it opens, and what it spares the dependency.",
	Variables: []variable{{"breaker", "Breaker", `label_values(resilience_circuit_breaker_state{@t}, <layer>)`}},
	Annotations: []annotation{
		{"Opened", `sum by (<layer>, <reason>) (increase(resilience_circuit_breaker_transitions_total{@b,<state>=~"open|forced_open"}[$__rate_interval])) > 0`,
			"<layer> opened: <reason>", "red"},
		{"Closed", `sum by (<layer>, <reason>) (increase(resilience_circuit_breaker_transitions_total{@b,<state>="closed"}[$__rate_interval])) > 0`,
			"<layer> closed: <reason>", "green"},
	},
	Rows: []row{
		{"State", []panel{
			{Kind: states, Title: "State", Span: 24, Height: 10, Unit: "short", Runbook: "breaker-not-closed",
				Doc:     "The state of each breaker over time. open: every call is refused until the cooldown has passed. half-open: a few probes decide. forced open, disabled: somebody did it by hand.",
				Queries: []query{{breakerStates, "<layer> {{instance}}"}}},
			{Kind: lines, Title: "In its state since", Span: 8, Height: 7, Unit: "s", Runbook: "breaker-not-closed",
				Doc:     "How long each breaker has been in its present state. It falls to 0 with every change: a saw means that it flaps.",
				Queries: []query{{`time() - max by (<layer>, instance) (resilience_circuit_breaker_state_change_time_seconds{@b})`, "<layer> {{instance}}"}}},
			{Kind: lines, Title: "Next probe in", Span: 8, Height: 7, Unit: "s", Runbook: "breaker-not-closed",
				Doc:     "Open breakers only: how long until the next call is let through to try.",
				Queries: []query{{`clamp_min(max by (<layer>, instance) (resilience_circuit_breaker_next_probe_time_seconds{@b} > 0) - time(), 0)`, "<layer> {{instance}}"}}},
			{Kind: lines, Title: "Cooldown", Span: 8, Height: 7, Unit: "s", Runbook: "breaker-not-closed",
				Doc:     "How long a breaker stays open when it opens next. It grows with every opening where a CooldownFunc says so.",
				Queries: []query{{`max by (<layer>, instance) (resilience_circuit_breaker_cooldown_seconds{@b})`, "<layer> {{instance}}"}}},
		}},
		{"Why", []panel{
			{Kind: lines, Title: "Failure ratio against its limit", Span: 12, Height: 8, Unit: "short", Runbook: "breaker-not-closed",
				Doc: "What a breaker measures, and where it opens. The limit is a ratio, or, for a breaker that counts failures in a row, a number.",
				Queries: []query{
					{`max by (<layer>) (resilience_circuit_breaker_failure_ratio{@b})`, "<layer>"},
					{`max by (<layer>) (resilience_circuit_breaker_failure_ratio_limit{@b})`, "<layer> limit"},
				}},
			{Kind: lines, Title: "Calls in the window", Span: 12, Height: 8, Unit: "short", Runbook: "breaker-not-closed",
				Doc:     "How many calls the failure ratio is of. Below MinCalls a breaker never opens, however bad it is.",
				Queries: []query{{`sum by (<layer>) (resilience_circuit_breaker_window_calls{@b})`, "<layer>"}}},
			{Kind: stacked, Title: "Transitions by reason", Span: 12, Height: 8, Unit: "short", Runbook: "breaker-flapping",
				Doc:     "State changes a minute, by the state entered and the reason. Many half_open and open in turn: probes keep failing. Many closed and open: it flaps.",
				Queries: []query{{`60 * sum by (<layer>, <state>, <reason>) (rate(resilience_circuit_breaker_transitions_total{@b}[$__rate_interval])) > 0`, "<layer> to <state>: <reason>"}}},
			{Kind: stacked, Title: "Time in each state", Span: 12, Height: 8, Unit: "percentunit", Max: 1, Runbook: "breaker-not-closed",
				Doc:     "Share of the time that breakers spent in each state, summed up by the breakers themselves: an opening between two scrapes is not lost.",
				Queries: []query{{`sum by (<state>) (rate(resilience_circuit_breaker_state_time_seconds_total{@b}[$__rate_interval])) / scalar(sum(rate(resilience_circuit_breaker_state_time_seconds_total{@b}[$__rate_interval])))`, "<state>"}}},
		}},
		{"What it spares and costs", []panel{
			{Kind: stacked, Title: "Calls spared", Span: 12, Height: 8, Unit: "reqps", Runbook: "rejections",
				Doc:     "Calls that breakers refused, by pipeline: load that the dependency did not get, and calls that callers did not get.",
				Queries: []query{{`sum by (<pipeline>, <reason>) (rate(resilience_rejections_total{@b,<reason>=~"open|probing|forced_open"}[$__rate_interval]))`, "<pipeline> <reason>"}}},
			{Kind: rows, Title: "Who shares it", Span: 12, Height: 8, Unit: "short", Runbook: "breaker-not-closed", Hide: []string{"Value", "<type>"},
				Doc:     "The pipelines that stand behind each breaker, its place in them (0 is the outermost) and its effective settings.",
				Queries: []query{{`max by (<pipeline>, <layer>, resilience_layer_shared, resilience_layer_position, resilience_layer_settings) (resilience_layer_info{@t,resilience_layer_shared=~"$breaker",<type>="circuit_breaker"})`, ""}}},
		}},
	},
}
