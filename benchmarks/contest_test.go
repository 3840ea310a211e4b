package main

import (
	"os"
	"path/filepath"
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

// An exchange is told as what it adds to the floor.
func TestPageShowsWhatAnExchangeAdds(t *testing.T) {
	text := page([][]result{{
		{workload: gets.name, name: "bare", role: floor, goroutines: 1, wall: time.Millisecond, p50: 50 * time.Microsecond, allocs: 60, bytes: 4000},
		{workload: gets.name, name: "Telltale", role: ours, goroutines: 1, wall: 2 * time.Millisecond, p50: 51500, p99: 90 * time.Microsecond,
			cpu: 70 * time.Microsecond, allocs: 72, bytes: 6100},
	}}, []size{{"Telltale", ours, 500}}, settings{time.Second, 3})
	for _, want := range []string{"| bare | 50.0 |  | 0.0 | 0.0 | 1000 | 60.0 |  | 4000 |  |", "| Telltale | 51.5 | +1.5 | 90.0 | 70.0 | 500 | 72.0 | +12.0 | 6100 | +2100 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// A round of an exchange times each piece.
func TestPiecesOfAnExchangeAreTimed(t *testing.T) {
	slow := workload{name: "slow", exchange: true, contestants: []contestant{simple("sleeper", floor, func() bool { time.Sleep(time.Millisecond); return true })}}
	results, err := contest(slow, 2, settings{time.Millisecond, 3})
	if err != nil || results[0].p50 < time.Millisecond || results[0].p99 < results[0].p50 {
		t.Errorf("%+v, %v", results, err)
	}
}

func TestPageNamesEveryPeer(t *testing.T) {
	if got := peers(); len(got) != len(peerModules) {
		t.Errorf("the page names %v, want a version of each of %v", got, peerModules)
	}
}

func TestWhatCannotBeMeasuredIsRefusedAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"-only":   benchmark(quickly, "nobody does this", ""),
		"-rounds": benchmark(settings{time.Millisecond, 0}, "", ""),
		"file":    scale(quickly, file),
	} {
		if err == nil {
			t.Errorf("no error says %s", what)
		} else if !strings.Contains(err.Error(), what) {
			t.Errorf("%v does not name %s", err, what)
		}
	}
}
