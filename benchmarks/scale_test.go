package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var quickly = settings{time.Millisecond, 1}

// small is a curve with only the points that cost no time to prepare.
func small(c curve) curve {
	for i, many := range c.points {
		if many > 100 {
			c.points = c.points[:i]
			break
		}
	}
	return c
}

// What grows is time that caches and lines cost: never what a call allocates, apart from what is boxed for who hears
// everything.
func TestNoCallAllocatesMoreWhereMoreLives(t *testing.T) {
	for _, c := range curves {
		all, err := small(c).measure(quickly, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if c.goroutines || m.line == "hearing everything" {
				continue
			}
			first := m.results[0]
			if c.name == "subscribers" {
				first = m.results[1] // the first subscriber has the events built
			}
			last := m.results[len(m.results)-1]
			if last.allocs > first.allocs+0.5 {
				t.Errorf("%s, %s: %.1f allocations a call, with more %.1f", c.name, m.line, first.allocs, last.allocs)
			}
		}
	}
}

func TestScaleIsWritten(t *testing.T) {
	docs := t.TempDir()
	if err := os.Mkdir(filepath.Join(docs, "images"), 0o755); err != nil {
		t.Fatal(err)
	}
	all := scaling{curves: map[string][]measured{}, loads: map[string][]load{}, contention: map[string][]contended{"breaker": {{"place", 7}}}}
	for _, c := range curves {
		for _, l := range c.lines {
			all.curves[c.name] = append(all.curves[c.name], measured{l.name, make([]result, len(c.points))})
		}
		if c.goroutines {
			all.contended = c
		}
	}
	for _, l := range listeners {
		for _, rate := range rates {
			all.loads[l.name] = append(all.loads[l.name], load{rate, float64(rate) / 2, 0.25})
		}
	}
	if err := all.write(docs, quickly); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(docs, "scale.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 100000 | 25.0 % (50000) |", "| breaker | `place` | 7 |", "| bulkhead | nowhere | 0 |"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("scale.md does not say %q", want)
		}
	}
	for _, line := range strings.Split(string(text), "\n") {
		if _, picture, ok := strings.Cut(line, "]("); ok && strings.HasPrefix(line, "![") {
			if _, err := os.Stat(filepath.Join(docs, strings.TrimSuffix(picture, ")"))); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestEveryAdapterIsOfferedEvents(t *testing.T) {
	each, err := eventsACall()
	if err != nil || each < 4 {
		t.Fatalf("%v events a call, %v", each, err)
	}
	for _, l := range listeners {
		if got, err := l.offer(100_000, each, 20*time.Millisecond); err != nil || got.achieved <= 0 {
			t.Errorf("%s: %+v, %v", l.name, got, err)
		}
	}
}

func TestContentionIsFound(t *testing.T) {
	c := curve{lines: []line{{"a lock", func(int) worker {
		var mu sync.Mutex
		return func() func() bool {
			return func() bool {
				mu.Lock()
				defer mu.Unlock()
				for began := time.Now(); time.Since(began) < 10*time.Microsecond; {
				}
				return true
			}
		}
	}}}}
	all, err := c.contention(8, settings{20 * time.Millisecond, 1})
	if err != nil {
		t.Fatal(err)
	}
	if places := all["a lock"]; len(places) == 0 || !strings.Contains(places[0].place, "TestContentionIsFound") || places[0].waits < 10*time.Microsecond {
		t.Errorf("found %v", places)
	}
}
