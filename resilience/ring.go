package resilience

// maxWindowCalls bounds what a ring takes: two bits a call.
const maxWindowCalls = 100_000

// ring counts the last calls, a fixed number of them. It knows no time; its owner guards it.
type ring struct {
	failed []uint64 // a bit for each call
	slow   []uint64 // nil: slow calls are not counted
	size   int
	next   int // where the next call goes: the oldest, once it is full
	counts tally
}

func newRing(size int, slow bool) *ring {
	r := &ring{size: size, failed: make([]uint64, (size+63)/64)}
	if slow {
		r.slow = make([]uint64, len(r.failed))
	}
	return r
}

// add counts one call, and forgets the oldest if there are more than its size.
func (r *ring) add(t tally) {
	word, bit := r.next/64, uint64(1)<<(r.next%64)
	if r.counts.calls < int64(r.size) {
		r.counts.calls++
	}
	r.counts.failures += t.failures - exchange(r.failed, word, bit, t.failures > 0)
	if r.slow != nil {
		r.counts.slow += t.slow - exchange(r.slow, word, bit, t.slow > 0)
	}
	if r.next++; r.next == r.size {
		r.next = 0
	}
}

// exchange sets or clears a bit, and returns what it was.
func exchange(bits []uint64, word int, bit uint64, set bool) (was int64) {
	if bits[word]&bit != 0 {
		was = 1
	}
	bits[word] &^= bit
	if set {
		bits[word] |= bit
	}
	return was
}

// succeeded counts n calls, all of them quick successes.
func (r *ring) succeeded(n int64) {
	for ; n > 0 && r.counts.failures+r.counts.slow > 0; n-- {
		r.add(tally{calls: 1})
	}
	r.counts.calls = min(r.counts.calls+n, int64(r.size))
	r.next = int((int64(r.next) + n) % int64(r.size))
}

func (r *ring) clear() {
	clear(r.failed)
	clear(r.slow)
	r.next, r.counts = 0, tally{}
}
