package main

import "strings"

// shorthandAlert spells the labels of an alert's texts out.
var shorthandAlert = strings.NewReplacer(
	"<pipeline>", "{{ $labels.resilience_pipeline_name }}",
	"<layer>", "{{ $labels.resilience_layer_name }}",
	"<job>", "{{ $labels.job }}",
	"<subscriber>", "{{ $labels.resilience_bus_subscriber }}",
	"<percent>", "{{ $value | humanizePercentage }}",
	"<value>", `{{ $value | printf "%.2g" }}`,
)

// alert makes an alerting rule. runbook is a page of docs/runbooks.
func alert(name, severity, wait, runbook, expr, summary, description string) rule {
	return rule{Alert: name, Expr: expr, For: wait, Labels: map[string]string{"severity": severity}, Annotations: map[string]string{
		"summary": summary, "description": description, "runbook_url": runbooks + runbook + ".md",
	}}
}

// alerts hold at scrapes of 15, 30 and 60 s: no window is shorter than four of the longest.
var alerts = ruleFile{Groups: []ruleGroup{{Name: "resilience.alerts", Rules: []rule{
	// An alert on state="open" for five minutes would never fire: each failed probe makes the breaker half-open for a moment.
	alert("ResilienceBreakerNotClosed", "critical", "1m", "breaker-not-closed",
		`max by (job, instance, <layer>) (max_over_time(resilience_circuit_breaker_state{<state>=~"closed|disabled"}[4m])) == 0
and on (job, instance, <layer>) sum by (job, instance, <layer>) (increase(resilience_circuit_breaker_transitions_total[10m])) > 0`,
		"Circuit breaker <layer> is not closed.",
		"Circuit breaker <layer> of <job> has not been closed for 5 minutes, although it is called: its probes keep failing. Calls through it are refused."),
	alert("ResilienceBreakerForcedOpen", "warning", "15m", "breaker-forced-open",
		`max by (job, instance, <layer>) (resilience_circuit_breaker_state{<state>="forced_open"}) == 1`,
		"Circuit breaker <layer> was opened by hand.",
		"Somebody opened circuit breaker <layer> of <job> by hand more than 15 minutes ago. It stays open until somebody resets it."),
	alert("ResilienceBreakerFlapping", "warning", "", "breaker-flapping",
		`sum by (job, instance, <layer>) (increase(resilience_circuit_breaker_transitions_total{<state>="closed",<reason>="probes_ok"}[15m])) >= 3`,
		"Circuit breaker <layer> flaps.",
		"Circuit breaker <layer> of <job> closed and opened again <value> times within 15 minutes: the dependency recovers only until it gets its load back."),
	alert("ResilienceRetryStorm", "warning", "2m", "retry-storm",
		`job_pipeline:resilience_amplification:ratio_rate5m > 1.5 and job_pipeline:resilience_executions:rate5m > 0.1`,
		"Pipeline <pipeline> runs its operation <value> times a call.",
		"Retries and hedges of pipeline <pipeline> of <job> add much load to what it calls. If that is overloaded, they keep it down."),
	alert("ResilienceRetryBudgetDrained", "warning", "1m", "budget-drained",
		`max by (job, instance, <layer>) (max_over_time(resilience_retry_budget_available[4m])) == 0`,
		"Retry budget <layer> is drained.",
		"Retry budget <layer> of <job> has had nothing left for 5 minutes: so many calls fail that none is retried any more."),
	alert("ResilienceOnlyFallback", "warning", "5m", "fallbacks",
		`sum by (job, <pipeline>) (job_pipeline_outcome:resilience_executions:rate5m{<outcome>="fallback"}) / (job_pipeline:resilience_executions:rate5m > 0.1) > 0.5`,
		"<percent> of the calls of pipeline <pipeline> are answered by a fallback.",
		"More than half of the calls of pipeline <pipeline> of <job> get a substitute: what it calls fails, and callers may not notice."),
	alert("ResilienceEventsLost", "warning", "", "events-lost",
		`sum by (job, instance, <subscriber>) (increase(resilience_bus_dropped_events_total[10m]) + increase(resilience_bus_handler_panics_total[10m])) > 0`,
		"A subscriber to resilience events loses some.",
		"Subscriber <subscriber> in <job> lost events or panicked within the last 10 minutes. Calls are not affected, but what it shows is incomplete."),
	alert("ResilienceCallsRejected", "warning", "5m", "rejections",
		`job_pipeline:resilience_rejected:ratio_rate5m > 0.1 and job_pipeline:resilience_executions:rate5m > 0.1`,
		"<percent> of the calls of pipeline <pipeline> are refused.",
		"Layers of pipeline <pipeline> of <job> refuse more than a tenth of its calls: an open breaker, a full bulkhead, a rate limit. The panel of rejections by layer tells which."),
	alert("ResilienceBulkheadSaturated", "warning", "5m", "saturation",
		`sum by (job, instance, <layer>) (min_over_time(resilience_limiter_usage[4m])) >= 0.9 * sum by (job, instance, <layer>) (resilience_limiter_limit) > 0`,
		"Limiter <layer> is full.",
		"At least nine tenths of what limiter <layer> of <job> admits have been in use for 5 minutes: what it protects is slow, or it is too small. What comes next waits or is refused."),
}}}}
