package resilience

import "math"

// windowCells is how many cells a window has: it forgets in steps of a tenth of its length, and never counts what is older
// than its length.
const windowCells = 10

// window counts the calls of the last while. It takes the time; its owner guards it, and gives it the same width always:
// that of a cell, in nanoseconds.
type window struct {
	epoch int64 // of the newest cell, which began epoch widths after the clock's origin
	cells [windowCells]cell
	slow  *[windowCells]uint32 // nil: slow calls are not counted
}

// tally is what is counted of calls. Of each call some, all, or none of the last two are true.
type tally struct{ calls, failures, slow int64 }

// cell counts a tenth of what a window does.
type cell struct{ calls, failures uint32 }

// tallyOf is the tally of one call.
func tallyOf(failed, slow bool) (t tally) {
	t.calls = 1
	if failed {
		t.failures = 1
	}
	if slow {
		t.slow = 1
	}
	return t
}

// newWindow returns an empty window.
func newWindow(now, width int64, slow bool) *window {
	w := &window{epoch: floorDiv(now, width)}
	if slow {
		w.slow = new([windowCells]uint32)
	}
	return w
}

// put adds to the newest cell, whatever the time. A full cell takes nothing any more.
func (w *window) put(t tally) {
	i := cellOf(w.epoch)
	c := &w.cells[i]
	if math.MaxUint32-int64(c.calls) < t.calls {
		return
	}
	c.calls += uint32(t.calls)
	c.failures += uint32(t.failures)
	if w.slow != nil {
		w.slow[i] += uint32(t.slow)
	}
}

// start is when the newest cell began.
func (w *window) start(width int64) int64 { return w.epoch * width }

// roll forgets what is too old at now, and tells whether the newest cell is another. A clock that goes back by more than a
// cell is another clock (another synctest bubble): everything is forgotten.
func (w *window) roll(now, width int64) bool {
	if in := now - w.start(width); in >= -width && in < width {
		return false
	}
	epoch := floorDiv(now, width)
	switch ahead := epoch - w.epoch; {
	case ahead < 0, ahead >= windowCells:
		w.clear()
	}
	for e := max(w.epoch+1, epoch-windowCells); e <= epoch; e++ {
		i := cellOf(e)
		w.cells[i] = cell{}
		if w.slow != nil {
			w.slow[i] = 0
		}
	}
	w.epoch = epoch
	return true
}

// total counts what is in the cells. The time of the last roll is what it is about.
func (w *window) total() (t tally) {
	for i := range w.cells {
		t.calls += int64(w.cells[i].calls)
		t.failures += int64(w.cells[i].failures)
	}
	if w.slow != nil {
		for _, n := range w.slow {
			t.slow += int64(n)
		}
	}
	return t
}

// at returns what total would be after a roll, without changing anything.
func (w *window) at(now, width int64) tally {
	copied := *w
	if w.slow != nil {
		slow := *w.slow
		copied.slow = &slow
	}
	copied.roll(now, width)
	return copied.total()
}

func (w *window) clear() {
	w.cells = [windowCells]cell{}
	if w.slow != nil {
		*w.slow = [windowCells]uint32{}
	}
}

func cellOf(epoch int64) int { return int(((epoch % windowCells) + windowCells) % windowCells) }

// floorDiv rounds toward minus infinity: readings of the clock may be negative.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
