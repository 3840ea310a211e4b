package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/e2e/outage"
	"github.com/telltale-go/telltale/e2e/promql"
)

// grafana replaces what Grafana would: the variables by everything there is, the intervals by those of a view of ten
// minutes at a scrape every 15 s.
var grafana = strings.NewReplacer("$__rate_interval", "1m", "$__interval", "15s", "$__range", "10m",
	"$job", ".+", "$instance", ".+", "$pipeline", ".+", "$breaker", ".+")

// shown is a query of a dashboard as it stands in the JSON.
type shown struct{ board, panel, expr string }

// queries lists what a dashboard asks, its annotations included.
func queries(t *testing.T, file string, raw []byte) (all []shown) {
	t.Helper()
	type target struct{ Expr string }
	type panelJSON struct {
		Title   string
		Panels  []json.RawMessage
		Targets []target
	}
	var d struct {
		Panels      []json.RawMessage
		Annotations struct {
			List []struct{ Name, Expr string }
		}
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	var walk func([]json.RawMessage)
	walk = func(panels []json.RawMessage) {
		for _, raw := range panels {
			var p panelJSON
			if err := json.Unmarshal(raw, &p); err != nil {
				t.Fatal(err)
			}
			for _, q := range p.Targets {
				all = append(all, shown{file, p.Title, q.Expr})
			}
			walk(p.Panels)
		}
	}
	walk(d.Panels)
	for _, a := range d.Annotations.List {
		all = append(all, shown{file, "annotation " + a.Name, a.Expr})
	}
	return all
}

// DASH-01
func TestEveryQueryShowsDataOfARealOutage(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, attach := range map[string]outage.Attach{"promres": outage.Promres, "otelres": outage.Otelres} {
		story := outage.Play(t, 15*time.Second, attach)
		store := promql.NewStore(t)
		if err := store.Append(map[string]string{"job": "orders", "instance": "orders-0:9090"}, story.Scrapes...); err != nil {
			t.Fatal(err)
		}
		end := story.Start.Add(outage.Whole)
		if _, err := store.Evaluate(story.Start, end, 30*time.Second, files["prometheus/rules.yaml"]); err != nil {
			t.Fatal(err)
		}
		for _, b := range boards() {
			for _, q := range queries(t, b.File, files["grafana/"+b.File]) {
				expr := grafana.Replace(q.expr)
				if regexp.MustCompile(`\$\w|<\w|@\w`).MatchString(expr) {
					t.Errorf("%s: %s: something is not replaced in %s", q.board, q.panel, expr)
					continue
				}
				answer, err := store.Range(expr, story.Start.Add(time.Minute), end, 15*time.Second)
				if err != nil {
					t.Errorf("%s: %s: %v", q.board, q.panel, err)
				} else if len(answer) == 0 {
					t.Errorf("%s by %s: %s shows nothing: %s", q.board, name, q.panel, expr)
				}
			}
		}
		for _, r := range recording.spelled().Groups[0].Rules {
			if answer, err := store.Instant(r.Record, end); err != nil || len(answer) == 0 {
				t.Errorf("by %s: %s is empty: %v", name, r.Record, err)
			}
		}
	}
}

// DASH-01
func TestBreakerBoardShowsWhatHappened(t *testing.T) {
	story := outage.Play(t, 15*time.Second, outage.Promres)
	store := promql.NewStore(t)
	if err := store.Append(map[string]string{"job": "orders", "instance": "orders-0:9090"}, story.Scrapes...); err != nil {
		t.Fatal(err)
	}
	at := func(moment time.Duration) []promql.Sample {
		t.Helper()
		answer, err := store.Instant(grafana.Replace(shorthand.Replace(breakerStates)), story.Start.Add(moment))
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	for moment, want := range map[time.Duration]float64{2 * time.Minute: 0, 3*time.Minute + 30*time.Second: 3, 5 * time.Minute: 3, 9 * time.Minute: 0} {
		if got := at(moment); len(got) != 1 || got[0].Value != want || got[0].Labels["resilience_layer_name"] != "orders-db" {
			t.Errorf("after %v the board shows %v, want orders-db at %v", moment, got, want)
		}
	}
}

// DASH-01
func TestEveryMetricIsOnAPanelOrLeftOutByName(t *testing.T) {
	leftOut := map[string]string{
		"resilience_build_info": "it fills the variables job and instance",
	}
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	story := outage.Play(t, time.Minute, outage.Promres)
	store := promql.NewStore(t)
	if err := store.Append(nil, story.Scrapes...); err != nil {
		t.Fatal(err)
	}
	samples, err := store.Instant(`group by (__name__) ({__name__=~"resilience_.+"})`, story.Start.Add(outage.Whole))
	if err != nil {
		t.Fatal(err)
	}
	exposed := map[string]bool{}
	for _, s := range samples {
		exposed[s.Labels["__name__"]] = true
	}
	asked := map[string]bool{}
	for name, b := range files {
		if strings.HasPrefix(name, "kubernetes/") {
			continue
		}
		for _, m := range regexp.MustCompile(`(\w*:)?resilience_\w+`).FindAllString(string(b), -1) {
			if !strings.Contains(m, ":") && !slices.Contains(labelNames, m) {
				asked[m] = true
			}
		}
	}
	base := regexp.MustCompile(`_(bucket|count|sum)$`)
	for name := range asked {
		if !exposed[name] && !exposed[base.ReplaceAllString(name, "")] && !exposed[name+"_bucket"] {
			t.Errorf("%s is asked for, and no adapter has it", name)
		}
	}
	for name := range exposed {
		name = base.ReplaceAllString(name, "")
		if !asked[name] && !asked[name+"_bucket"] && leftOut[name] == "" {
			t.Errorf("%s is on no panel: show it, or leave it out by name here", name)
		}
	}
}

// labelNames are what the expressions name beside metrics.
var labelNames = []string{"resilience_pipeline_name", "resilience_layer_name", "resilience_layer_type", "resilience_outcome",
	"resilience_attempt_kind", "resilience_reason", "resilience_wait_kind",
	"resilience_layer_shared", "resilience_layer_position", "resilience_layer_settings", "resilience_singleflight_role",
	"resilience_bus_subscriber"}
