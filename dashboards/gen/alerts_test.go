package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/e2e/promql"
)

// DASH-02
func TestEachAlertFiresInItsScenarioAlone(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for i, s := range scenarios {
		named[s.alert] = true
		for _, every := range []time.Duration{15 * time.Second, 30 * time.Second, time.Minute} {
			store, start := promql.NewStore(t), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			record(t, store, s.all(), start, every)
			fired, err := store.Evaluate(start, start.Add(lasts), 30*time.Second, files["prometheus/rules.yaml"], files["prometheus/alerts.yaml"])
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, f := range fired {
				names = append(names, f.Name)
				if texts := f.Annotations["summary"] + f.Annotations["description"]; strings.Contains(texts, "<") || strings.Contains(texts, "no value") || texts == "" {
					t.Errorf("%s tells %q", f.Name, texts)
				}
			}
			if s.alert == "" {
				if len(fired) > 0 {
					t.Errorf("scenario %d, scraped every %v: %v fired, want none", i, every, names)
				}
				continue
			}
			if names = slices.Compact(names); !slices.Equal(names, []string{s.alert}) {
				t.Errorf("scenario %d, scraped every %v: %v fired, want %s", i, every, names, s.alert)
			} else if late := fired[0].At.Sub(start) - begins; late < 0 || late > s.within {
				t.Errorf("scenario %d, scraped every %v: %s fired %v after the trouble began, want within %v", i, every, s.alert, late, s.within)
			}
		}
	}
	for _, r := range alerts.Groups[0].Rules {
		if !named[r.Alert] {
			t.Errorf("%s has no scenario", r.Alert)
		}
	}
}

// DASH-02: promtool, on what is committed for those who change a threshold.
func TestPromtoolAgrees(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool: Debian's package prometheus has it")
	}
	for _, args := range [][]string{{"check", "rules", "rules.yaml", "alerts.yaml"}, {"test", "rules", "tests/alerts.yaml"}} {
		c := exec.Command(promtool, args...)
		c.Dir = filepath.Join("..", "prometheus")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// record scrapes the series every so often.
func record(t *testing.T, store *promql.Store, all series, start time.Time, every time.Duration) {
	t.Helper()
	for key, v := range all {
		name, labels := target(key)
		labels["__name__"] = name
		for after := time.Duration(0); after <= lasts; after += every {
			if err := store.Add(labels, start.Add(after), v(after)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
