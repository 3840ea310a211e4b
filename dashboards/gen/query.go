package main

import "strings"

// query is one expression of a panel. In the text of an expression {@p} selects the pipelines that the dashboard's
// variables choose, {@b} its breakers, {@t} all of the chosen targets; <pipeline> and the like are labels.
type query struct {
	Expr   string
	Legend string
}

// shorthand spells an expression out.
var shorthand = strings.NewReplacer(
	"@p", `job=~"$job",instance=~"$instance",resilience_pipeline_name=~"$pipeline"`,
	"@b", `job=~"$job",instance=~"$instance",resilience_layer_name=~"$breaker"`,
	"@t", `job=~"$job",instance=~"$instance"`,
	"<pipeline>", "resilience_pipeline_name",
	"<layer>", "resilience_layer_name",
	"<type>", "resilience_layer_type",
	"<outcome>", "resilience_outcome",
	"<kind>", "resilience_attempt_kind",
	"<reason>", "resilience_reason",
	"<wait>", "resilience_wait_kind",
	"<role>", "resilience_singleflight_role",
	"<subscriber>", "resilience_bus_subscriber",
	"<state>", "resilience_circuit_breaker_state",
)

// quantile is a latency by native buckets where there are any, else by classic ones.
func quantile(q, metric, selector, by string) string {
	if by != "" {
		by += ", "
	}
	grouped := "" // of native buckets: without le
	if by != "" {
		grouped = " by (" + strings.TrimSuffix(by, ", ") + ")"
	}
	return "histogram_quantile(" + q + ", sum" + grouped + " (rate(" + metric + selector + "[$__rate_interval])))" +
		" or histogram_quantile(" + q + ", sum by (" + by + "le) (rate(" + metric + "_bucket" + selector + "[$__rate_interval])))"
}

// breakerStates gives a breaker's state a number, the worst of those of one name: closed 0, disabled 1, half-open 2,
// open 3, forced open 4.
const breakerStates = `max by (<layer>, instance) (
  0 * (resilience_circuit_breaker_state{@b,<state>="closed"} > 0)
  or (resilience_circuit_breaker_state{@b,<state>="disabled"} > 0)
  or 2 * (resilience_circuit_breaker_state{@b,<state>="half_open"} > 0)
  or 3 * (resilience_circuit_breaker_state{@b,<state>="open"} > 0)
  or 4 * (resilience_circuit_breaker_state{@b,<state>="forced_open"} > 0)
)`
