package resilience

import "math"

// windowCells is how many cells a window has: it forgets in steps of a tenth of its length, and never counts what is older
// than its length.
const windowCells = 10

// window counts calls and failures of the last while. It takes the time; its owner guards it.
type window struct {
	width int64 // of a cell, in nanoseconds
	epoch int64 // of the newest cell; meaningful unless total is zero
	cells [windowCells]cell
	total tally
}

type tally struct{ calls, failures int64 }

// cell counts a tenth of what a window does.
type cell struct{ calls, failures uint32 }

func (w *window) add(now int64, failed bool) {
	w.roll(now)
	c := &w.cells[cellOf(w.epoch)]
	if c.calls == math.MaxUint32 {
		return // full: a cell that starts anew at 0 would take more out of total than it put in
	}
	c.calls++
	w.total.calls++
	if failed {
		c.failures++
		w.total.failures++
	}
}

// roll forgets what is too old at now. A clock that goes back by more than a cell is another clock (another synctest
// bubble): everything is forgotten.
func (w *window) roll(now int64) {
	epoch := floorDiv(now, w.width)
	ahead := epoch - w.epoch
	switch {
	case w.total.calls == 0:
	case ahead == 0, ahead == -1:
		return
	case ahead < 0, ahead >= windowCells:
		w.clear()
	default:
		for e := w.epoch + 1; e <= epoch; e++ {
			c := &w.cells[cellOf(e)]
			w.total.calls -= int64(c.calls)
			w.total.failures -= int64(c.failures)
			*c = cell{}
		}
	}
	w.epoch = epoch
}

// at returns what roll would leave, without changing anything.
func (w *window) at(now int64) tally {
	copied := *w
	copied.roll(now)
	return copied.total
}

func (w *window) clear() { *w = window{width: w.width} }

func cellOf(epoch int64) int { return int(((epoch % windowCells) + windowCells) % windowCells) }

// floorDiv rounds toward minus infinity: readings of the clock may be negative.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
