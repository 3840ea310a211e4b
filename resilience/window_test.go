package resilience

import (
	"math"
	"math/rand/v2"
	"testing"
)

// naiveWindow is a window as a list of all calls.
type naiveWindow struct {
	width  int64
	newest int64 // cell
	calls  []naiveCall
}

type naiveCall struct {
	cell int64
	tally
}

func (w *naiveWindow) roll(now int64) {
	cell := now / w.width
	if now%w.width < 0 {
		cell--
	}
	if cell < w.newest-1 { // another clock
		w.calls, w.newest = nil, cell
	}
	w.newest = max(w.newest, cell)
	var young []naiveCall
	for _, c := range w.calls {
		if c.cell > w.newest-windowCells {
			young = append(young, c)
		}
	}
	w.calls = young
}

func (w *naiveWindow) total() (t tally) {
	for _, c := range w.calls {
		t.calls += c.calls
		t.failures += c.failures
		t.slow += c.slow
	}
	return t
}

// compare lets a window and a naive one count the same schedule: each byte is a call, whether it failed, and the time that passes before
// it, which may be negative.
func compare(t *testing.T, width, now int64, schedule []byte) {
	w, naive := newWindow(now, width, true), naiveWindow{width: width, newest: floorDiv(now, width)}
	for i, s := range schedule {
		switch {
		case s >= 250:
			now -= int64(s-249) * width // back by 1 to 6 cells
		case s >= 240:
			now += int64(s-239) * min(width, math.MaxInt64/64) * 2
		default:
			now += int64(s%16) * max(width/5/16, 1)
		}
		if now > math.MaxInt64/2 || now < math.MinInt64/2 {
			return
		}
		one := tallyOf(s%3 == 0, s%5 == 0)
		naive.roll(now)
		if got, want := w.at(now, width), naive.total(); got != want {
			t.Fatalf("width %d, call %d: read %+v, naive %+v", width, i, got, want)
		}
		w.roll(now, width)
		w.put(one)
		naive.calls = append(naive.calls, naiveCall{naive.newest, one})
		if got, want := w.total(), naive.total(); got != want {
			t.Fatalf("width %d, call %d: %+v, naive %+v", width, i, got, want)
		}
	}
}

// BRK-02
func TestWindowCountsAsANaiveOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		schedule := make([]byte, 200)
		for i := range schedule {
			schedule[i] = byte(random.Uint32N(256))
		}
		compare(t, 1+random.Int64N(1<<random.Uint32N(40)), random.Int64N(1<<60)-1<<59, schedule)
	}
}

// BRK-02: for all schedules, negative readings and clocks that go back included.
func FuzzWindowCountsAsANaiveOne(f *testing.F) {
	f.Add(int64(3_000_000_000), int64(-850_000_000_000_000_000), []byte{1, 11, 21, 31, 41, 51, 61, 71, 81, 91, 101, 111, 121})
	f.Add(int64(math.MaxInt64/windowCells), int64(math.MinInt64/2), []byte("forward and back"))
	f.Fuzz(func(t *testing.T, width, now int64, schedule []byte) {
		if width > 0 && len(schedule) <= 300 {
			compare(t, width, now/4, schedule)
		}
	})
}

// BRK-02
func TestWindowNeverCountsWhatIsOlderThanItsLength(t *testing.T) {
	const width = 100
	for start := int64(-3 * windowCells * width); start < width; start += 7 {
		w := newWindow(start, width, false)
		w.roll(start, width)
		w.put(tallyOf(true, false))
		if got := w.at(start+windowCells*width, width); got != (tally{}) {
			t.Errorf("a call of %d still counts a window later: %+v", start, got)
		}
		if got := w.at(start+(windowCells-1)*width, width); got != (tally{1, 1, 0}) {
			t.Errorf("a call of %d does not count nine tenths of a window later: %+v", start, got)
		}
	}
}

// BRK-10: reading changes nothing.
func TestReadingTheWindowChangesNothing(t *testing.T) {
	w := newWindow(5, 10, true)
	w.roll(5, 10)
	w.put(tallyOf(true, true))
	before, slow := *w, *w.slow
	w.at(1<<40, 10)
	w.at(-1<<40, 10)
	if *w != before || *w.slow != slow {
		t.Errorf("%+v, before %+v", w, before)
	}
}

// BRK-02: a window of a day at any rate neither wraps nor takes out more than it put in.
func TestWindowSurvivesAFullCell(t *testing.T) {
	w := newWindow(5, 10, false)
	w.roll(5, 10)
	w.put(tallyOf(true, false))
	w.cells[0] = cell{math.MaxUint32, math.MaxUint32}
	for range 3 {
		w.roll(6, 10)
		w.put(tallyOf(true, false))
	}
	w.put(tally{calls: 5})
	for range 3 {
		w.roll(15, 10)
		w.put(tallyOf(false, false))
	}
	if got, want := w.total(), (tally{math.MaxUint32 + 3, math.MaxUint32, 0}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := w.at(5+windowCells*10, 10); got != (tally{3, 0, 0}) {
		t.Errorf("%+v is left of the second cell, want 3 calls", got)
	}
}
