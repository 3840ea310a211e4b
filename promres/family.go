package promres

import "sync/atomic"

// family is the series of one metric that a source counts into, by the values of an enum. Each is made at its first use,
// and found without a lock or an allocation from then on. Place 0 takes every value that the enum does not have.
type family[M any] struct {
	row    *row
	vec    *vec[M]
	labels func(value int) []string
	cells  []atomic.Pointer[M] // by value
}

// newFamily makes a family for the values 1 to size-1.
func newFamily[M any](r *row, v *vec[M], size int, labels func(value int) []string) *family[M] {
	return &family[M]{row: r, vec: v, labels: labels, cells: make([]atomic.Pointer[M], size)}
}

// at returns the series of a value.
func (f *family[M]) at(value int) M {
	if uint(value) >= uint(len(f.cells)) {
		value = 0
	}
	if m := f.cells[value].Load(); m != nil {
		return *m
	}
	return f.make(value)
}

func (f *family[M]) make(value int) M {
	f.row.mu.Lock()
	defer f.row.mu.Unlock()
	if m := f.cells[value].Load(); m != nil {
		return *m
	}
	m := seriesLocked(f.row, f.vec, f.labels(value))
	f.cells[value].Store(&m)
	return m
}
