package resilience

import (
	"math/big"
	"slices"
	"testing"
	"time"
)

// rates reads the arithmetic of a limiter out of bytes, from the slowest to the fastest.
func (s *schedule) rates() (g gcra, rate int, per time.Duration, burst int) {
	per = min(time.Duration(1)<<(s.next()%60), maxSpan)
	rate = 1 + int(s.next())<<(s.next()%60)&(1<<60-1)
	rate = min(rate, int(per))
	burst = 1 + int(s.next())<<(s.next()%60)&(1<<60-1)
	burst = min(burst, int(int64(maxSpan)/newGCRA(rate, per, 1, 0).interval))
	wait := time.Duration(0)
	if s.next()%2 == 1 {
		wait = time.Duration(1) << (s.next() % 62)
	}
	return newGCRA(rate, per, burst, wait), rate, per, burst
}

// turn is a call that was let through, or has its turn.
type turn struct{ at, next int64 }

// within checks that no window has more turns than rate x t + burst.
func within(t *testing.T, turns []turn, rate int, per time.Duration, burst int) {
	t.Helper()
	slices.SortFunc(turns, func(a, b turn) int { return int(min(max(a.at-b.at, -1), 1)) })
	n := func(i int64) *big.Int { return big.NewInt(i) }
	for i := range turns {
		for j := i + burst; j < len(turns); j++ {
			over := n(0).Mul(n(int64(j-i+1-burst)), n(int64(per)))
			if over.Cmp(n(0).Mul(n(int64(rate)), n(turns[j].at-turns[i].at))) > 0 {
				t.Fatalf("%d calls in %v at %d a %v with a burst of %d", j-i+1, time.Duration(turns[j].at-turns[i].at), rate, per, burst)
			}
		}
	}
}

// LIM-06: whatever comes, waits and leaves, in any window at most rate x t + burst calls are let through; and what is
// refused or waits would have been too much.
func FuzzGCRAKeepsTheRate(f *testing.F) {
	f.Add([]byte("\x1e\x0a\x00\x05\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x01\x1c\x00\x00\x00\x01\x20\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x1e\x0a\x00\x01\x00\x01\x1f" + "\x00\x00\x00\x00\x02\x00\x00\x02\x01\x01\x1c\x00\x02\x03\x01\x1d\x00\x00\x02\x01"))
	f.Add([]byte("\x3b\x00\x00\x03\x00\x01\x3d" + "\x00\x00\x00\x00\x01\x3a\x00\x00\x00\x02\x00\x00\x01\x3b\x00"))
	f.Add([]byte("\x3b\xff\x3b\xff\x3b\x01\x3d" + "\x00\x00\x00\x00\x01\x3a\x00\x00\x00\x02\x00\x00\x01\x3b\x00"))
	f.Add([]byte("\x02\x0a\x00\x02\x00\x01\x01" + "\x00\x00\x00\x01\x00\x00\x01\x01\x00\x00\x02\x00\x01\x02\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if len(bytes) > 300 {
			return
		}
		s := schedule{bytes}
		g, rate, per, burst := s.rates()
		at := int64(-850_000_000_000_000_000) + int64(s.next())
		tat := at
		var turns, waiting []turn
		pass := func(d int64) {
			at += d
			waiting = slices.DeleteFunc(waiting, func(w turn) bool { return w.at <= at })
		}
		for len(s.bytes) > 0 && at < 1<<61 {
			switch s.next() % 3 {
			case 0:
				next, wait := g.take(tat, at, len(waiting) > 0)
				if wait > g.longest {
					tat = g.giveBack(next)
					continue
				}
				tat = next
				turns = append(turns, turn{at + wait, next})
				if wait > 0 {
					waiting = append(waiting, turns[len(turns)-1])
				}
			case 1:
				pass(int64(1) << (s.next() % 60))
			case 2: // one who waits leaves
				if len(waiting) == 0 {
					continue
				}
				i := int(s.next()) % len(waiting)
				left := waiting[i]
				waiting = slices.Delete(waiting, i, i+1)
				i = slices.Index(turns, left)
				turns = slices.Delete(turns, i, i+1)
				if tat == left.next {
					tat = g.giveBack(tat)
				}
			}
			if taken := g.taken(tat, at, len(waiting) > 0); taken < 0 || taken > int64(burst) {
				t.Fatalf("%d of %d are taken", taken, burst)
			}
		}
		within(t, turns, rate, per, burst)
		pass(g.longest + 1)
		if g.longest < 1<<50 && at < 1<<61 { // who waits until its turn leaves nothing in the way: the next comes within an interval
			soon(t, g, tat, at)
		}
	})
}

// soon checks that whoever is refused, and comes back after an interval, is let through.
func soon(t *testing.T, g gcra, tat, at int64) {
	t.Helper()
	next, wait := g.take(tat, at, false)
	if wait == 0 {
		return
	}
	if _, again := g.take(g.giveBack(next), at+g.interval, false); wait > g.interval || again != 0 {
		t.Fatalf("the next waits %v and then %v, an interval is %v", time.Duration(wait), time.Duration(again), time.Duration(g.interval))
	}
}

// LIM-06, PIPE-26: no reading of the clock overflows, none means never, and a clock that went back keeps nobody out for
// longer than an interval.
func FuzzGCRAStandsAnyClock(f *testing.F) {
	for _, at := range [][2]int64{{0, 0}, {1<<63 - 1, -1 << 63}, {-1 << 63, 1<<63 - 1}, {1<<63 - 1, 1<<63 - 1}, {-1 << 63, -1 << 63}, {0, -850_000_000_000_000_000}, {1e9, 0}} {
		for _, rules := range []string{"\x1e\x0a\x00\x05\x00\x00\x00", "\x3b\x00\x00\x03\x00\x01\x3d", "\x3b\xff\x3b\xff\x3b\x01\x3d", "\x00\x00\x00\x00\x00\x00\x00"} {
			f.Add(at[0], at[1], []byte(rules))
		}
	}
	f.Fuzz(func(t *testing.T, tat, at int64, bytes []byte) {
		s := schedule{bytes}
		g, _, _, burst := s.rates()
		if g.interval < 1 || g.capacity < g.interval || g.longest < 0 || g.capacity > int64(maxSpan)*2 {
			t.Fatalf("%+v", g)
		}
		soon(t, g, tat, at)
		for _, waiting := range []bool{false, true} {
			next, wait := g.take(tat, at, waiting)
			if most := g.longest + otherClock + g.interval; wait < 0 || wait > most || !waiting && wait > g.interval {
				t.Fatalf("waits %v, an interval is %v, at most %v", time.Duration(wait), time.Duration(g.interval), time.Duration(most))
			}
			if ahead := next - at; ahead < g.interval || ahead > g.capacity+wait { // it may wrap, and is the same
				t.Fatalf("%v ahead", time.Duration(ahead))
			}
			if taken := g.taken(tat, at, waiting); taken < 0 || taken > int64(burst) {
				t.Fatalf("%d of %d are taken", taken, burst)
			}
		}
		// From there on the burst is refilled, and no more than that.
		next, _ := g.take(tat, at, false)
		full := at + (next - at)
		for range min(burst, 100) {
			var wait int64
			if full, wait = g.take(full, next, false); wait != 0 {
				t.Fatalf("a call of the burst waits %v", time.Duration(wait))
			}
		}
		if _, wait := g.take(full, next, false); burst <= 100 && wait != g.interval {
			t.Fatalf("the call after the burst waits %v, an interval is %v", time.Duration(wait), time.Duration(g.interval))
		}
	})
}
