package resilience

// waiters are calls that wait for their turn: a line for each class of priority, first come, first served. Its owner
// guards it.
type waiters struct {
	lines [priorityClasses]line
	n     int
}

// line is a list of waiters in the order in which they came.
type line struct{ first, last *waiter }

type waiter struct {
	prev, next *waiter
	class      int
	state      waiterState
	ready      chan struct{} // closed when it need not wait any longer
}

type waiterState uint8

const (
	waitsStill waiterState = iota
	wasGranted             // it has a permit
	wasShed                // it made room for a higher class
)

func (q *waiters) push(p Priority) *waiter {
	w := &waiter{class: p.class(), ready: make(chan struct{})}
	l := &q.lines[w.class]
	w.prev = l.last
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	q.n++
	return w
}

func (q *waiters) remove(w *waiter) {
	l := &q.lines[w.class]
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	q.n--
}

// release ends the wait of w.
func (q *waiters) release(w *waiter, state waiterState) {
	q.remove(w)
	w.state = state
	close(w.ready)
}

// grantFirst ends the wait of the first of the highest class; false if nobody waits.
func (q *waiters) grantFirst() bool {
	for class := priorityClasses - 1; class >= 0; class-- {
		if w := q.lines[class].first; w != nil {
			q.release(w, wasGranted)
			return true
		}
	}
	return false
}

// shedBelow ends the wait of the one in the lowest class below p that came last, who has waited the least; false if all
// are of p's class or above.
func (q *waiters) shedBelow(p Priority) bool {
	for class := range p.class() {
		if w := q.lines[class].last; w != nil {
			q.release(w, wasShed)
			return true
		}
	}
	return false
}
