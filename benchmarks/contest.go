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
	// exchange: each piece goes over the network, so what counts is what a contestant adds to the floor, and how long
	// single pieces take.
	exchange bool
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
	p50, p99       time.Duration // of single pieces, where they are timed
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
		times []time.Duration // of single pieces, all rounds
	}
	all := make([]*entry, len(w.contestants))
	for i, c := range w.contestants {
		make := c.start()
		e := &entry{contestant: c}
		for range goroutines {
			e.works = append(e.works, make())
		}
		if _, err := run(e.works, 3, nil); err != nil {
			return nil, fmt.Errorf("%s by %s: %w", w.name, c.name, err)
		}
		warm, err := run(e.works, 100, nil)
		if err != nil {
			return nil, fmt.Errorf("%s by %s: %w", w.name, c.name, err)
		}
		e.n = max(1, int(s.round/max(warm.wall, 1)/time.Duration(goroutines)))
		all[i] = e
	}
	for range s.rounds {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, e := range all {
			var times []time.Duration
			if w.exchange {
				times = make([]time.Duration, e.n*goroutines)
			}
			r, err := run(e.works, e.n, times)
			if err != nil {
				return nil, fmt.Errorf("%s by %s: %w", w.name, e.name, err)
			}
			e.runs = append(e.runs, r)
			e.times = append(e.times, times...)
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
		if len(e.times) > 0 {
			slices.Sort(e.times)
			r.p50, r.p99 = e.times[len(e.times)/2], e.times[len(e.times)*99/100]
		}
		results = append(results, r)
	}
	return results, nil
}

// run has each of the works done n times, all beside each other. times has room for how long each piece took; nil: they are
// not timed.
func run(works []func() bool, n int, times []time.Duration) (r result, err error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu, began := processTime(), time.Now()
	failed := make([]int, len(works))
	var all sync.WaitGroup
	for i, work := range works[1:] {
		all.Go(func() { failed[i+1] = again(work, n, part(times, i+1, n)) })
	}
	failed[0] = again(works[0], n, part(times, 0, n))
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

func part(times []time.Duration, i, n int) []time.Duration {
	if times == nil {
		return nil
	}
	return times[i*n : (i+1)*n]
}

func again(work func() bool, n int, times []time.Duration) (failed int) {
	var began time.Time
	for i := range n {
		if times != nil {
			began = time.Now()
		}
		if !work() {
			failed++
		}
		if times != nil {
			times[i] = time.Since(began)
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
