package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// contenders is how many goroutines call at once when it is seen where they wait.
const contenders = 16

// scaling is everything that docs/scale.md tells.
type scaling struct {
	curves     map[string][]measured
	loads      map[string][]load
	contention map[string][]contended
	contended  curve
}

func measureScaling(s settings, progress io.Writer) (all scaling, err error) {
	all.curves = map[string][]measured{}
	for _, c := range curves {
		if all.curves[c.name], err = c.measure(s, progress); err != nil {
			return all, err
		}
		if c.goroutines {
			all.contended = c
		}
	}
	if all.loads, err = underLoad(settings{10 * s.round, max(1, s.rounds/3)}, progress); err != nil {
		return all, err
	}
	fmt.Fprintf(progress, "contention\n")
	all.contention, err = all.contended.contention(contenders, s)
	return all, err
}

// write writes scale.md and its pictures into a folder of documents.
func (all scaling) write(docs string, s settings) error {
	for _, c := range curves {
		if err := plotCurve(c, all.curves[c.name], filepath.Join(docs, "images", "scale-"+c.name+".svg")); err != nil {
			return err
		}
	}
	if err := plotLoads(all.loads, filepath.Join(docs, "images", "scale-events.svg")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(docs, "scale.md"), []byte(all.page(s)), 0o644)
}

func (all scaling) page(s settings) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Scale

Written by `+"`make bench-scale`"+`: what a call costs while something grows, in %d rounds of about %v for each point, in a new order each round; the medians count.
The shape is what matters: nanoseconds are of one machine.

%s`, s.rounds, s.round, machine())
	for _, c := range curves {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n![ns a call, by %s](images/scale-%s.svg)\n\n", c.grows, c.doc, c.grows, c.name)
		all.table(&b, c)
	}
	all.tellLoads(&b)
	all.tellContention(&b)
	return b.String()
}

// table has a row for each point and a column for each line: ns a call, and how many allocations if there are any.
func (all scaling) table(b *strings.Builder, c curve) {
	fmt.Fprintf(b, "| %s |", c.name)
	for _, l := range c.lines {
		fmt.Fprintf(b, " %s |", l.name)
	}
	fmt.Fprintf(b, "\n|--:|%s\n", strings.Repeat("--:|", len(c.lines)))
	for i, many := range c.points {
		fmt.Fprintf(b, "| %d |", many)
		for _, m := range all.curves[c.name] {
			r := m.results[i]
			fmt.Fprintf(b, " %d ns", r.wall.Nanoseconds())
			if r.allocs >= 0.5 {
				fmt.Fprintf(b, ", %.0f allocs", r.allocs)
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
}

func (all scaling) tellLoads(b *strings.Builder) {
	b.WriteString(`
## events a second, with each adapter attached

One goroutine calls a pipeline at a steady rate; one call in ten needs a retry. A cell is the share of one processor that the whole process takes, exporters included; where the rate was
not reached, what was reached is beside it. What an adapter does for an event does not depend on how many came before, so the share grows as the rate does; below some thousand events a
second it is the timer that starts the calls.

![share of a processor, by events a second](images/scale-events.svg)

| events a second |`)
	for _, l := range listeners {
		fmt.Fprintf(b, " %s |", l.name)
	}
	fmt.Fprintf(b, "\n|--:|%s\n", strings.Repeat("--:|", len(listeners)))
	for i, rate := range rates {
		fmt.Fprintf(b, "| %d |", rate)
		for _, l := range listeners {
			r := all.loads[l.name][i]
			fmt.Fprintf(b, " %.1f %%", 100*r.cores)
			if r.achieved < 0.9*float64(rate) {
				fmt.Fprintf(b, " (%.0f)", r.achieved)
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
}

func (all scaling) tellContention(b *strings.Builder) {
	fmt.Fprintf(b, `
## where goroutines wait

%d goroutines call without a pause, more than ever do; the mutex profile tells where they waited for a lock, and for how long, a call. No lock is held while a function of the user's or a
subscriber runs, so an operation's own time is never in it.

| | waited in | ns a call |
|---|---|--:|
`, contenders)
	for _, l := range all.contended.lines {
		places := all.contention[l.name]
		if len(places) == 0 {
			fmt.Fprintf(b, "| %s | nowhere | 0 |\n", l.name)
		}
		for _, p := range places {
			fmt.Fprintf(b, "| %s | `%s` | %d |\n", l.name, p.place, cmp.Or(p.waits, time.Nanosecond).Nanoseconds())
		}
	}
}
