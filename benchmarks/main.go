package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

var workloads = []workload{floors, retryFirst, retryThird, breakerConsecutive, breakerWindowed, breakerOpen, timeouts, timeoutsWaiting,
	bulkheads, rateLimiters, flights, hedges, stack, stackWaiting, gets, checks}

func main() {
	rounds := flag.Int("rounds", 21, "how many `rounds` each contestant has")
	round := flag.Duration("round", 20*time.Millisecond, "how long a round lasts, about")
	only := flag.String("only", "", "measure only the workloads with this `word` in their names")
	out := flag.String("o", "", "the `file` to write instead of the standard output")
	flag.Parse()
	if err := benchmark(settings{*round, *rounds}, *only, *out); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func benchmark(s settings, only, out string) error {
	if s.rounds < 1 || s.round <= 0 {
		return fmt.Errorf("-rounds %d -round %v: both must be positive", s.rounds, s.round)
	}
	var results [][]result
	for _, w := range workloads {
		if !strings.Contains(w.name, only) {
			continue
		}
		for _, goroutines := range []int{1, runtime.GOMAXPROCS(0)} {
			if goroutines > 1 && (w.name == floors.name || w.name == flights.name) {
				continue // the parts are known, and flights would be joined
			}
			fmt.Fprintf(os.Stderr, "%s, %d at a time\n", w.name, goroutines)
			r, err := contest(w, goroutines, s)
			if err != nil {
				return err
			}
			results = append(results, r)
		}
	}
	text := page(results, sizes(), s)
	if out == "" {
		_, err := fmt.Print(text)
		return err
	}
	return os.WriteFile(out, []byte(text), 0o644)
}
