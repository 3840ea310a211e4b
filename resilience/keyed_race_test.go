package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// However many keys come and go at once, a key never has two gates in use, no gate is settled twice, and the table is
// bounded.
func TestAKeyHasOneGateUnderContention(t *testing.T) {
	bus := events.NewBus()
	var mu sync.Mutex // guards what follows
	var gates []*counting
	inUse := map[string]int{}
	k := byKey(bus, func(key string) (resilience.Gate, error) {
		g := &counting{name: key}
		mu.Lock()
		defer mu.Unlock()
		gates = append(gates, g)
		return g, nil
	}, atMost(8))
	var evicted atomic.Int64
	bus.KeyEvicted.Subscribe(func(context.Context, events.KeyEvicted) { evicted.Add(1) })
	p := ints(bus, k)
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(g)))
			for range 500 {
				key := fmt.Sprint("key", rnd.IntN(24))
				end := rnd.IntN(4)
				apart(func() {
					defer func() { _ = recover() }()
					_ = p.RunKey(context.Background(), key, func(context.Context) error {
						mu.Lock()
						inUse[key]++
						mu.Unlock()
						defer func() {
							mu.Lock()
							inUse[key]--
							mu.Unlock()
						}()
						if n := k.Len(); n > 8 {
							t.Errorf("%d keys, at most 8", n)
						}
						runtime.Gosched()
						switch end {
						case 0:
							panic("no")
						case 1:
							runtime.Goexit()
						case 2:
							return errBoom
						}
						return nil
					})
				})
			}
		})
	}
	wg.Wait()
	settled := 0
	for _, g := range gates {
		if g.outstanding != 0 {
			t.Errorf("a gate of %q has %d calls outstanding", g.name, g.outstanding)
		}
		settled += len(g.outcomes)
	}
	if settled != 16*500 || evicted.Load() == 0 {
		t.Errorf("%d calls were settled, want %d; %d keys were forgotten", settled, 16*500, evicted.Load())
	}
	for i := range 8 {
		if _, err := k.AcquireKey(t.Context(), fmt.Sprint("again", i)); err != nil { // held: the next makes room elsewhere
			t.Error(err)
		}
	}
	if got := keysOf(k); got != "again0 again1 again2 again3 again4 again5 again6 again7" {
		t.Errorf("keys %s: some are in use for ever", got)
	}
}

// The first calls of a key that come at once use one gate.
func TestTheFirstCallsOfAKeyShareAGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Int64
		k := byKey(events.Off(), func(key string) (resilience.Gate, error) {
			if key != "" {
				made.Add(1)
				time.Sleep(time.Second)
			}
			return roomEach(key)
		}, nil)
		var admitted, refused atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				err := k.RunKey(t.Context(), "new", func(context.Context) error { admitted.Add(1); time.Sleep(time.Minute); return nil })
				if errors.Is(err, resilience.ErrLimited) {
					refused.Add(1)
				}
			})
		}
		wg.Wait()
		if admitted.Load() != 1 || refused.Load() != 49 || made.Load() != 50 {
			t.Errorf("%d admitted, %d refused, of one bulkhead for one; %d made", admitted.Load(), refused.Load(), made.Load())
		}
	})
}

// PIPE-26
func TestAKeyedServesBubblesOneAfterAnother(t *testing.T) {
	k := byKey(events.NewBus(), func(string) (resilience.Gate, error) {
		return resilience.NewBulkhead(resilience.BulkheadConfig{Name: "b", MaxConcurrent: 1, MaxQueue: 5, Bus: events.Off()})
	}, atMost(3))
	p := ints(events.Off(), k)
	use := func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() {
				if err := p.RunKey(t.Context(), fmt.Sprint(i%4), func(context.Context) error { return nil }); err != nil && !errors.Is(err, resilience.ErrLimited) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	use(t)
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			use(t)
			time.Sleep(time.Hour)
			use(t)
		})
		use(t)
	}
}

// The table finds every key while it grows, and after others were forgotten.
func TestAKeyedFindsAHundredThousandKeys(t *testing.T) {
	const n = 100_000
	gate := new(counting)
	k := byKey(events.Off(), func(string) (resilience.Gate, error) { return gate, nil }, atMost(n))
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint("tenant-", i)
		visit(t, k, all[i])
	}
	for i := range 1000 {
		visit(t, k, fmt.Sprint("more-", i))
	}
	found := 0
	for _, key := range all {
		if _, ok := k.Get(key); ok {
			found++
		}
	}
	if k.Len() != n || found != n-1000 {
		t.Errorf("%d keys; %d of the first are there, want %d", k.Len(), found, n-1000)
	}
}

func TestAllStopsWhenToldTo(t *testing.T) {
	k := byKey(events.Off(), roomEach, nil)
	visit(t, k, "a", "b", "c")
	for stop := range 4 {
		n := 0
		for range k.All {
			if n++; n > stop {
				break
			}
		}
		if n != stop+1 {
			t.Errorf("%d were yielded, want %d", n, stop+1)
		}
	}
}

// BUS-02: a hit allocates nothing.
func TestAllocationsOfAKeyed(t *testing.T) {
	bus := events.NewBus()
	each := func(string) (resilience.Gate, error) { return breakerOn(events.Off(), 0.5), nil }
	p := ints(bus, byKey(bus, each, nil))
	for _, key := range []string{"", "a key that is a little longer than usual"} {
		ctx := context.Background()
		if got := testing.AllocsPerRun(300, func() { p.DoKey(ctx, key, one) }); got != 0 {
			t.Errorf("%q: %v allocations", key, got)
		}
	}
}

func BenchmarkKeyed(b *testing.B) {
	for _, n := range []int{1, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			bus := events.NewBus()
			p := ints(bus, byKey(bus, func(string) (resilience.Gate, error) { return bulkheadOn(events.Off()), nil }, atMost(n)))
			keys := make([]string, n)
			for i := range keys {
				keys[i] = fmt.Sprint("tenant-", i)
				p.DoKey(context.Background(), keys[i], one)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				p.DoKey(context.Background(), keys[i], one)
				if i += 7919; i >= n {
					i %= n
				}
			}
		})
	}
}

func BenchmarkKeyedParallel(b *testing.B) {
	bus := events.NewBus()
	p := ints(bus, byKey(bus, func(string) (resilience.Gate, error) { return bulkheadOn(events.Off()), nil }, nil))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			p.DoKey(context.Background(), "one", one)
		}
	})
}
