package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"
)

// workload is one piece of work that several do.
type workload struct {
	name, doc   string
	contestants []contestant
}

// contestant does a workload. ours marks Telltale, floor what the work cannot cost less than.
type contestant struct {
	name  string
	role  role
	start func() worker
}

type role int

const (
	peer role = iota
	ours
	floor
)

// worker makes what one goroutine calls again and again: a piece of work, which tells whether it was done. The state
// behind it is shared by all that one worker makes.
type worker func() func() bool

// result is what a piece of work costs.
type result struct {
	workload, name string
	role           role
	goroutines     int
	wall, cpu      time.Duration // of one piece; cpu is that of the process, and 0 where it is not known
	allocs, bytes  float64       // of one piece
}

// settings say how long and how often is measured.
type settings struct {
	round  time.Duration // how long one round of a contestant lasts, about
	rounds int
}

// contest measures everybody in turns: in each round all of them, in a new order, so that what disturbs the machine
// disturbs all alike. The medians count.
func contest(w workload, goroutines int, s settings) ([]result, error) {
	type entry struct {
		contestant
		works []func() bool
		n     int
		runs  []result
	}
	all := make([]*entry, len(w.contestants))
	for i, c := range w.contestants {
		make := c.start()
		e := &entry{contestant: c}
		for range goroutines {
			e.works = append(e.works, make())
		}
		if _, err := run(e.works, 3); err != nil {
			return nil, fmt.Errorf("%s by %s: %w", w.name, c.name, err)
		}
		warm, err := run(e.works, 100)
		if err != nil {
			return nil, fmt.Errorf("%s by %s: %w", w.name, c.name, err)
		}
		e.n = max(1, int(s.round/max(warm.wall, 1)/time.Duration(goroutines)))
		all[i] = e
	}
	for range s.rounds {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, e := range all {
			r, err := run(e.works, e.n)
			if err != nil {
				return nil, fmt.Errorf("%s by %s: %w", w.name, e.name, err)
			}
			e.runs = append(e.runs, r)
		}
	}
	var results []result
	for _, c := range w.contestants {
		e := all[slices.IndexFunc(all, func(e *entry) bool { return e.name == c.name })]
		r := result{workload: w.name, name: c.name, role: c.role, goroutines: goroutines}
		r.wall = median(e.runs, func(r result) time.Duration { return r.wall })
		r.cpu = median(e.runs, func(r result) time.Duration { return r.cpu })
		r.allocs = median(e.runs, func(r result) float64 { return r.allocs })
		r.bytes = median(e.runs, func(r result) float64 { return r.bytes })
		results = append(results, r)
	}
	return results, nil
}

// run has each of the works done n times, all beside each other.
func run(works []func() bool, n int) (r result, err error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu, began := processTime(), time.Now()
	failed := make([]int, len(works))
	var all sync.WaitGroup
	for i, work := range works[1:] {
		all.Go(func() { failed[i+1] = again(work, n) })
	}
	failed[0] = again(works[0], n)
	all.Wait()
	r.wall, r.cpu = time.Since(began), processTime()-cpu
	runtime.ReadMemStats(&after)
	for _, f := range failed {
		if f > 0 {
			return r, fmt.Errorf("%d of %d pieces of work were not done", f, n)
		}
	}
	pieces := n * len(works)
	r.wall /= time.Duration(pieces)
	r.cpu /= time.Duration(pieces)
	r.allocs = float64(after.Mallocs-before.Mallocs) / float64(pieces)
	r.bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(pieces)
	return r, nil
}

func again(work func() bool, n int) (failed int) {
	for range n {
		if !work() {
			failed++
		}
	}
	return failed
}

func median[R any, V float64 | time.Duration](runs []R, of func(R) V) V {
	values := make([]V, len(runs))
	for i, r := range runs {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
