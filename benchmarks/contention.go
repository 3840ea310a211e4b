package main

import (
	"bufio"
	"bytes"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

// contended is a place where goroutines waited for a lock.
type contended struct {
	place string
	waits time.Duration // of all goroutines, a piece of work
}

// contention tells where goroutines wait for locks while so many call at once: for each line of a curve the places of
// ours, the worst first.
func (c curve) contention(goroutines int, s settings) (map[string][]contended, error) {
	before := runtime.SetMutexProfileFraction(1)
	defer runtime.SetMutexProfileFraction(before)
	all := map[string][]contended{}
	for _, l := range c.lines {
		make := l.start(goroutines)
		var works []func() bool
		for range goroutines {
			works = append(works, make())
		}
		warm, err := run(works, 100, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		n := max(100, int(s.round/max(warm.wall, 1)/time.Duration(goroutines)))
		earlier := lockWaits()
		if _, err := run(works, n, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", l.name, err)
		}
		all[l.name] = nil
		for place, waited := range lockWaits() {
			if each := (waited - earlier[place]) / time.Duration(n*goroutines); waited > earlier[place] {
				all[l.name] = append(all[l.name], contended{place, each})
			}
		}
		slices.SortFunc(all[l.name], func(a, b contended) int { return int(b.waits - a.waits) })
	}
	return all, nil
}

// lockWaits sums the mutex profile up by the function of ours that waited.
func lockWaits() map[string]time.Duration {
	records := make([]runtime.BlockProfileRecord, 10_000)
	n, _ := runtime.MutexProfile(records)
	waits, perSecond := map[string]time.Duration{}, cyclesPerSecond()
	for _, r := range records[:n] {
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); strings.Contains(f.Function, "/telltale/") {
				name := f.Function[strings.LastIndex(f.Function, "/")+1:]
				waits[name] += time.Duration(float64(r.Cycles) / perSecond * float64(time.Second))
				break
			}
		}
	}
	return waits
}

// cyclesPerSecond is what the mutex profile says that its cycles are.
func cyclesPerSecond() float64 {
	var b bytes.Buffer
	_ = pprof.Lookup("mutex").WriteTo(&b, 1)
	lines := bufio.NewScanner(&b)
	for lines.Scan() {
		var perSecond float64
		if n, _ := fmt.Sscanf(lines.Text(), "cycles/second=%g", &perSecond); n == 1 {
			return perSecond
		}
	}
	return float64(time.Second) // a cycle is a nanosecond where nothing is known
}
