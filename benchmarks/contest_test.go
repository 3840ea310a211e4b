package main

import (
	"strings"
	"testing"
	"time"
)

// A smoke run keeps the contestants compiling and honest: each is checked to have done its work.
func TestEveryContestantDoesItsWork(t *testing.T) {
	names := map[string]bool{}
	for _, w := range workloads {
		if names[w.name] || w.doc == "" {
			t.Errorf("%q has a name of its own and says what it is", w.name)
		}
		names[w.name] = true
		results, err := contest(w, 1, settings{time.Millisecond, 1})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, r := range results {
			if r.wall <= 0 {
				t.Errorf("%s by %s costs %v", w.name, r.name, r.wall)
			}
		}
	}
}

func TestWorkThatIsNotDoneIsFound(t *testing.T) {
	lazy := workload{name: "lazy", contestants: []contestant{simple("idler", peer, func() bool { return false })}}
	if _, err := contest(lazy, 1, settings{time.Millisecond, 1}); err == nil || !strings.Contains(err.Error(), "lazy by idler") {
		t.Errorf("got %v", err)
	}
}

func TestPageShowsRatiosToOurs(t *testing.T) {
	text := page([][]result{{{workload: retryFirst.name, name: "Telltale", role: ours, goroutines: 1, wall: 10}, {workload: retryFirst.name, name: "other", wall: 25}}},
		[]size{{"Telltale", ours, 500}, {"other", peer, 250}}, settings{time.Second, 3})
	for _, want := range []string{"| Telltale | 10 | 1.00 |", "| other | 25 | 2.50 |", "| other | 250 | 0.50 |", "3 rounds of about 1s"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}
