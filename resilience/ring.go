package resilience

// maxWindowCalls bounds what a ring takes: two bits a call.
const maxWindowCalls = 100_000

// ring counts the last calls, a fixed number of them. It knows no time; its owner guards it.
type ring struct {
	bits       []uint64 // one a call that failed, then, unless it is shorter, one a call that was slow
	size, next int32    // next is where the next call goes: the oldest, once it is full
	counts     tally
}

func newRing(size int32, slow bool) *ring {
	words := (int(size) + 63) / 64
	if slow {
		words *= 2
	}
	return &ring{size: size, bits: make([]uint64, words)}
}

// add counts one call, and forgets the oldest if there are more than its size.
func (r *ring) add(t tally) {
	word, bit := r.next/64, uint64(1)<<(r.next%64)
	if r.counts.calls < int64(r.size) {
		r.counts.calls++
	}
	r.counts.failures += t.failures - r.exchange(int(word), bit, t.failures > 0)
	if word += (r.size + 63) / 64; int(word) < len(r.bits) {
		r.counts.slow += t.slow - r.exchange(int(word), bit, t.slow > 0)
	}
	if r.next++; r.next == r.size {
		r.next = 0
	}
}

// exchange sets or clears a bit, and returns what it was.
func (r *ring) exchange(word int, bit uint64, set bool) (was int64) {
	if r.bits[word]&bit != 0 {
		was = 1
	}
	r.bits[word] &^= bit
	if set {
		r.bits[word] |= bit
	}
	return was
}

// succeeded counts n calls, all of them quick successes.
func (r *ring) succeeded(n int64) {
	for ; n > 0 && r.counts.failures+r.counts.slow > 0; n-- {
		r.add(tally{calls: 1})
	}
	r.counts.calls = min(r.counts.calls+n, int64(r.size))
	r.next = int32((int64(r.next) + n) % int64(r.size))
}

func (r *ring) clear() {
	clear(r.bits)
	r.next, r.counts = 0, tally{}
}
