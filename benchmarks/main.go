package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

var workloads = []workload{floors, retryFirst, retryThird, breakerConsecutive, breakerWindowed, breakerOpen, timeouts, timeoutsWaiting,
	bulkheads, rateLimiters, flights, hedges, stack, stackWaiting, observedStack, gets, getsAtOnce, checks}

func main() {
	rounds := flag.Int("rounds", 21, "how many `rounds` each contestant has")
	round := flag.Duration("round", 20*time.Millisecond, "how long a round lasts, about")
	only := flag.String("only", "", "measure only the workloads with this `word` in their names")
	out := flag.String("o", "", "the `file` to write instead of the standard output")
	docs := flag.String("scale", "", "measure what a call costs while something grows, and write scale.md and its pictures into this `folder`")
	flag.Parse()
	measure := func(s settings) error { return benchmark(s, *only, *out) }
	if *docs != "" {
		measure = func(s settings) error { return scale(s, *docs) }
	}
	if err := measure(settings{*round, *rounds}); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func (s settings) check() error {
	if s.rounds < 1 || s.round <= 0 {
		return fmt.Errorf("-rounds %d -round %v: both must be positive", s.rounds, s.round)
	}
	return nil
}

func scale(s settings, docs string) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(docs, "images"), 0o755); err != nil {
		return err // before what takes minutes
	}
	all, err := measureScaling(s, os.Stderr)
	if err != nil {
		return err
	}
	return all.write(docs, s)
}

func benchmark(s settings, only, out string) error {
	if err := s.check(); err != nil {
		return err
	}
	if !slices.ContainsFunc(workloads, func(w workload) bool { return strings.Contains(w.name, only) }) {
		return fmt.Errorf("-only %q: no workload has this in its name", only)
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
