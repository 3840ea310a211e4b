package incident

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/telltale-go/telltale/e2e/outage"
	"github.com/telltale-go/telltale/e2e/promql"
	"github.com/telltale-go/telltale/events"
)

// desk is where the person on call sits: the outage, and a Prometheus that scraped it.
type desk struct {
	*outage.Story
	t     *testing.T
	how   string // what was scraped, and how often
	every time.Duration
	store *promql.Store
	kinds []string // of buckets that were scraped
}

// ask answers a query at a moment of the story: the value by the value of a label, "" if there is no label.
func (d *desk) ask(at time.Duration, label, query string) map[string]float64 {
	d.t.Helper()
	samples, err := d.store.Instant(query, d.Start.Add(at))
	if err != nil {
		d.t.Fatal(err)
	}
	answer := map[string]float64{}
	for _, s := range samples {
		answer[s.Labels[label]] = s.Value
	}
	return answer
}

// want compares an answer with what happened, each value within a share of it.
func (d *desk) want(question string, got, want map[string]float64, within float64) {
	d.t.Helper()
	if len(got) != len(want) {
		d.t.Errorf("%s: %s: got %v, want %v", d.how, question, got, want)
		return
	}
	for label, w := range want {
		if g, ok := got[label]; !ok || math.Abs(g-w) > within*math.Abs(w)+1e-9 {
			d.t.Errorf("%s: %s: got %v, want %v within %v %%", d.how, question, got, want, 100*within)
			return
		}
	}
}

const (
	pipeline = "resilience_pipeline_name"
	layer    = "resilience_layer_name"
	state    = "resilience_circuit_breaker_state"
	reason   = "resilience_reason"
)

// The answers are the same whichever adapter was scraped. PITFALL-9 PITFALL-12 PROM-01 PROM-04
func TestPersonOnCallGetsTrueAnswers(t *testing.T) {
	for _, adapter := range []struct {
		name   string
		attach outage.Attach
		kinds  []string
	}{
		{"promres", outage.Promres, []string{"native", "classic"}},
		{"otelres", outage.Otelres, []string{"classic"}}, // OpenTelemetry's exporter makes classic ones of the bounds it is given
	} {
		for _, every := range []time.Duration{15 * time.Second, 30 * time.Second, time.Minute} {
			d := &desk{Story: outage.Play(t, every, adapter.attach), t: t, how: fmt.Sprintf("%s scraped every %v", adapter.name, every),
				every: every, store: promql.NewStore(t), kinds: adapter.kinds}
			if err := d.store.Append(map[string]string{"job": "orders", "instance": "orders-0:9090"}, d.Scrapes...); err != nil {
				t.Fatal(err)
			}
			d.whileHealthy()
			d.whileDown()
			d.afterwards()
		}
	}
}

func (d *desk) whileHealthy() {
	at := outage.Begins - time.Second
	d.want("is a breaker open", d.ask(at, layer, `resilience_circuit_breaker_state{resilience_circuit_breaker_state!="closed"} == 1`),
		map[string]float64{}, 0)
	d.want("how often did it open so far", d.ask(at, layer, `sum by (resilience_layer_name) (resilience_circuit_breaker_transitions_total)`),
		map[string]float64{"orders-db": 0}, 0)
	d.want("who shares the breaker", d.ask(at, pipeline, `resilience_layer_info{resilience_layer_shared="orders-db"}`),
		map[string]float64{"orders.create": 1, "orders.get": 1}, 0)
	d.want("what do users feel", d.ask(at, pipeline, success("2m")), map[string]float64{"orders.create": 1, "orders.get": 1, "search": 1, "profiles": 1}, 0)
}

func (d *desk) whileDown() {
	at := 5*time.Minute + 30*time.Second
	last := d.Transitions[0]
	for _, e := range d.Transitions { // as the scrape before saw it
		if e.At.Sub(d.Start) <= at.Truncate(d.every) {
			last = e
		}
	}
	d.want("is a breaker open", d.ask(at, layer, `max by (resilience_layer_name) (resilience_circuit_breaker_state{resilience_circuit_breaker_state=~"open|half_open|forced_open"})`),
		map[string]float64{"orders-db": 1}, 0)
	d.want("since when", d.ask(at, layer, `resilience_circuit_breaker_state_change_time_seconds`),
		map[string]float64{"orders-db": float64(last.At.UnixNano()) / 1e9}, 1e-9)
	d.want("when does it try again", d.ask(at, layer, `resilience_circuit_breaker_next_probe_time_seconds`),
		map[string]float64{"orders-db": float64(last.At.Add(last.Cooldown).UnixNano()) / 1e9}, 1e-9)
	d.want("why", d.ask(at, reason, `sum by (resilience_reason) (resilience_circuit_breaker_transitions_total{resilience_circuit_breaker_state="open"}) > 0`),
		d.openings(at.Truncate(d.every)), 0)
	d.want("what of", d.ask(at, "error_type", `sum by (error_type) (resilience_attempt_failures_total) > 0`),
		d.failed(at.Truncate(d.every)), 0.005) // some end in the instant of the scrape
	d.want("was it open the whole time", d.ask(at, layer, `max_over_time(resilience_circuit_breaker_state{resilience_circuit_breaker_state="closed"}[2m])`),
		map[string]float64{"orders-db": 0}, 0)
	d.want("how much of the time is it open", d.ask(at, state, `rate(resilience_circuit_breaker_state_time_seconds_total{resilience_circuit_breaker_state="open"}[2m])`),
		map[string]float64{"open": 1}, 0.05)
	d.want("is the budget of retries drained", d.ask(at, layer, `resilience_retry_budget_available{resilience_layer_name="orders-retries"}`),
		map[string]float64{"orders-retries": 0}, 0)
	d.want("who lives on fallbacks", d.ask(at, pipeline, `sum by (resilience_pipeline_name) (rate(resilience_executions_total{resilience_outcome="fallback"}[2m])) > 0`),
		map[string]float64{"profiles": 2 * outage.PerSecond}, 0.01)
	d.want("how many calls share another's", d.ask(at, pipeline, `sum by (resilience_pipeline_name) (rate(resilience_singleflight_calls_total{resilience_singleflight_role="follower"}[2m]))`),
		map[string]float64{"profiles": outage.PerSecond}, 0.01)
	d.want("what do users feel", d.ask(at, pipeline, success("2m")), map[string]float64{"orders.create": 0, "orders.get": 0, "search": 0, "profiles": 0}, 0)
	d.want("what is spared", d.ask(at, layer, `sum by (resilience_layer_name) (rate(resilience_rejections_total{resilience_layer_name="orders-db"}[2m]))`),
		map[string]float64{"orders-db": 2 * outage.PerSecond}, 0.02)
}

func (d *desk) afterwards() {
	at := outage.Whole
	d.want("is a breaker open", d.ask(at, layer, `resilience_circuit_breaker_state{resilience_circuit_breaker_state!="closed"} == 1`),
		map[string]float64{}, 0)
	d.want("how often did it close", d.ask(at, layer, `sum by (resilience_layer_name) (resilience_circuit_breaker_transitions_total{resilience_circuit_breaker_state="closed"})`),
		map[string]float64{"orders-db": float64(len(d.Entered(events.StateClosed)))}, 0)
	d.want("how long was it open altogether", d.ask(at, layer, `sum by (resilience_layer_name) (resilience_circuit_breaker_state_time_seconds_total{resilience_circuit_breaker_state="open"})`),
		map[string]float64{"orders-db": d.openFor().Seconds()}, 1e-6)
	// The load on the database by calls, over the whole story: counters start at zero, so no scrape is needed at the start.
	extra := d.Attempted("orders.create", 0, outage.Whole) / d.Executed("orders.create", 0, 0, outage.Whole)
	d.want("how much load do retries add", d.ask(at, pipeline, `sum by (resilience_pipeline_name) (resilience_attempts_total) / sum by (resilience_pipeline_name) (resilience_executions_total) and on (resilience_pipeline_name) resilience_layer_info{resilience_layer_type="retry"}`),
		map[string]float64{"orders.create": extra}, 0.001)
	d.want("what do users feel", d.ask(at, pipeline, success("2m")), map[string]float64{"orders.create": 1, "orders.get": 1, "search": 1, "profiles": 1}, 0)
	d.want("is the budget full again", d.ask(at, layer, `resilience_retry_budget_available / resilience_retry_budget_limit{resilience_layer_name="orders-retries"}`),
		map[string]float64{"orders-retries": 1}, 0)
	d.want("do hedges help", d.ask(at, pipeline, `sum by (resilience_pipeline_name) (resilience_hedge_wins_total)`), map[string]float64{"profiles": d.hedgeWins()}, 0)
	quantiles := map[string]string{
		"native":  `histogram_quantile(0.5, sum by (resilience_pipeline_name) (rate(resilience_execution_duration_seconds[2m])))`,
		"classic": `histogram_quantile(0.5, sum by (resilience_pipeline_name, le) (rate(resilience_execution_duration_seconds_bucket[2m])))`,
	}
	for _, kind := range d.kinds {
		within := map[string]float64{"native": 0.06, "classic": 0.3}[kind] // 20 ms between the bounds 5 and 25 ms
		d.want("how long do calls take, by "+kind+" buckets", d.ask(at, pipeline, quantiles[kind]+` unless on (resilience_pipeline_name) resilience_layer_info{resilience_layer_type="hedge"}`), map[string]float64{"orders.create": 0.02, "orders.get": 0.02, "search": 0.02}, within)
	}
}

func success(window string) string {
	return fmt.Sprintf(`sum by (resilience_pipeline_name) (rate(resilience_executions_total{resilience_outcome="success"}[%[1]s]))
		/ sum by (resilience_pipeline_name) (rate(resilience_executions_total[%[1]s]))`, window)
}

// hedgeWins counts the hedges that succeeded.
func (d *desk) hedgeWins() (n float64) {
	for _, e := range d.Hedges {
		if e.Kind == events.AttemptHedge && e.Err == nil {
			n++
		}
	}
	return n
}

// openings counts the openings so far by their reason.
func (d *desk) openings(until time.Duration) map[string]float64 {
	n := map[string]float64{}
	for _, e := range d.Entered(events.StateOpen) {
		if e.At.Sub(d.Start) <= until {
			n[e.Reason.String()]++
		}
	}
	return n
}

// failed counts the attempts that failed so far by the class of the error.
func (d *desk) failed(until time.Duration) map[string]float64 {
	n := map[string]float64{}
	for _, e := range d.Attempts {
		if e.At.Sub(d.Start) <= until && (e.Outcome == events.OutcomeFailure || e.Outcome == events.OutcomeTimeout) {
			n[events.ErrorType(e.Err)]++
		}
	}
	return n
}

// openFor is how long the breaker was open: a breaker whose cooldown has passed reads half-open, although the transition is
// made, and published, by the next call.
func (d *desk) openFor() (sum time.Duration) {
	for _, e := range d.Entered(events.StateOpen) {
		sum += e.Cooldown
	}
	return sum
}
