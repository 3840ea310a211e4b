package resilience

import (
	"math"
	"sync/atomic"
	"time"
)

// keyedEntry is a key's gate. Its uses count the calls under way, those that wait included; gone says that the table
// has it no more, and nobody may begin to use it.
type keyedEntry struct {
	gate    Gate
	key     string
	hash    uint64
	uses    atomic.Int64
	touched atomic.Bool // used since the hand passed; see recent

	// guarded by Keyed.mu
	idleSince int64 // when the sweep last found it used
	recent    bool  // the sweep found it used since the search for room passed
	at        int   // in the ring

	// A permit of a Keyed whose gate itself has one inside: of is this Keyed's entry, inner the other's. Nil otherwise.
	of, inner *keyedEntry
}

const gone = math.MinInt64 / 2

// enter begins a use; false if the table has it no more.
func (e *keyedEntry) enter() bool {
	if e.uses.Add(1) < gone/2 {
		return false
	}
	if !e.touched.Load() {
		e.touched.Store(true)
	}
	return true
}

func (e *keyedEntry) leave() { e.uses.Add(-1) }

// keyedBuckets is a hash table of chains. Chains are never changed, only replaced, so that they are read without a lock.
type keyedBuckets []atomic.Pointer[keyedNode]

type keyedNode struct {
	*keyedEntry
	next *keyedNode
}

// newKeyedBuckets makes room for n entries, a power of two.
func newKeyedBuckets(n int) *keyedBuckets {
	b := make(keyedBuckets, n)
	return &b
}

func (b keyedBuckets) of(hash uint64) *atomic.Pointer[keyedNode] { return &b[hash&uint64(len(b)-1)] }

func (b keyedBuckets) add(e *keyedEntry) {
	head := b.of(e.hash)
	head.Store(&keyedNode{e, head.Load()})
}

func (b keyedBuckets) remove(e *keyedEntry) {
	head := b.of(e.hash)
	head.Store(head.Load().without(e))
}

func (n *keyedNode) without(e *keyedEntry) *keyedNode {
	if n == nil || n.keyedEntry == e {
		if n != nil {
			return n.next
		}
		return nil
	}
	return &keyedNode{n.keyedEntry, n.next.without(e)}
}

// find returns a key's entry, nil if there is none. It takes no lock.
func (k *Keyed) find(hash uint64, key string) *keyedEntry {
	for n := k.buckets.Load().of(hash).Load(); n != nil; n = n.next {
		if n.hash == hash && n.key == key {
			return n.keyedEntry
		}
	}
	return nil
}

// add puts an entry into the table. mu is held.
func (k *Keyed) add(e *keyedEntry) {
	e.at, e.idleSince = len(k.ring), now()
	k.ring = append(k.ring, e)
	buckets := k.buckets.Load()
	if len(k.ring) <= len(*buckets) {
		buckets.add(e)
		return
	}
	grown := newKeyedBuckets(2 * len(*buckets))
	for _, e := range k.ring {
		grown.add(e)
	}
	k.buckets.Store(grown)
}

// remove takes an entry out of the table, unless a call has begun to use it. mu is held.
func (k *Keyed) remove(e *keyedEntry) bool {
	if !e.uses.CompareAndSwap(0, gone) {
		return false
	}
	k.buckets.Load().remove(e)
	last := k.ring[len(k.ring)-1]
	k.ring[e.at], last.at = last, e.at
	k.ring[len(k.ring)-1] = nil
	k.ring = k.ring[:len(k.ring)-1]
	k.past.add(e.gate)
	return true
}

const (
	// sweepSteps is at how many entries the hand looks for each new key: more than one, so that it catches up.
	sweepSteps = 4
	// pressedSteps is at how many it looks at most to make room.
	pressedSteps = 256
)

// sweep forgets some of what has been idle for long. mu is held.
func (k *Keyed) sweep() (forgotten []*keyedEntry) {
	if k.cfg.IdleAfter < 0 {
		return nil
	}
	at := now()
	for range min(sweepSteps, len(k.ring)) {
		e := k.step()
		if e.touched.Swap(false) || e.uses.Load() != 0 || e.remembers() {
			e.recent, e.idleSince = true, at
		} else if time.Duration(at-e.idleSince) >= k.cfg.IdleAfter && k.remove(e) {
			forgotten = append(forgotten, e)
		}
	}
	return forgotten
}

// victim returns an entry that may be forgotten to make room; nil if the hand finds none. The first time the hand passes
// one that was used since, it spares it. mu is held.
func (k *Keyed) victim() *keyedEntry {
	for range min(pressedSteps, 2*len(k.ring)) {
		e := k.step()
		if e.uses.Load() != 0 || e.remembers() {
			continue
		}
		if e.touched.Swap(false) || e.recent {
			e.recent = false
			continue
		}
		k.hand = e.at // who asks again finds the same
		return e
	}
	return nil
}

// step moves the hand on. mu is held, and there are entries.
func (k *Keyed) step() *keyedEntry {
	if k.hand >= len(k.ring) {
		k.hand = 0
	}
	k.hand++
	return k.ring[k.hand-1]
}

func (e *keyedEntry) remembers() bool {
	r, ok := e.gate.(rememberer)
	return ok && r.remembers()
}
