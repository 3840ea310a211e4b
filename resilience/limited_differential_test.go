package resilience

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
)

// TMO-09: the same random program sees the same with contexts inside Timeouts as with the standard library's.
func TestAContextBehavesAsOneOfTheStandardLibrary(t *testing.T) {
	programs := 500
	if testing.Short() {
		programs = 100
	}
	for _, asked := range []bool{true, false} { // at once whether it is done
		seen, loose := 0, 0
		for seed := range uint64(programs) {
			r := rand.New(rand.NewPCG(seed, 9))
			steps := make([]byte, 30+r.IntN(120))
			for i := range steps {
				steps[i] = byte(r.Uint32())
			}
			all, ambiguous := compareContexts(t, steps, asked)
			seen, loose = seen+all, loose+ambiguous
			if t.Failed() {
				t.Fatalf("seed %d, asked %t", seed, asked)
			}
		}
		t.Logf("asked at once: %t; %d observations, of which %d tell only whether it is done", asked, seen, loose)
		if asked && loose > 0 || loose > seen/4 {
			t.Errorf("too many observations prove little")
		}
	}
}

// TMO-09
func FuzzAContextBehavesAsOneOfTheStandardLibrary(f *testing.F) {
	f.Add([]byte("three limits, children, and then some"), true)
	f.Add([]byte{1, 2, 3, 40, 50, 60, 9, 9, 9, 11, 11, 13, 14, 2, 2, 2}, false)
	f.Fuzz(func(t *testing.T, steps []byte, asked bool) {
		compareContexts(t, steps[:min(len(steps), 300)], asked)
	})
}

// compareContexts runs a program with both kinds of contexts. It returns how many observations there were, and how many
// of them may tell other errors, since several things had ended a context before anybody asked it.
func compareContexts(t *testing.T, steps []byte, asked bool) (all, ambiguous int) {
	t.Helper()
	var standard, ours contextProgram
	synctest.Test(t, func(t *testing.T) { standard = contextProgram{steps: steps, asked: asked}; standard.run() })
	synctest.Test(t, func(t *testing.T) { ours = contextProgram{steps: steps, asked: asked, ours: true}; ours.run() })
	for i, got := range ours.seen {
		want := standard.seen[i]
		if got.ambiguous {
			ambiguous++
		}
		if got.what != want.what || got.err != want.err && (!got.ambiguous || (got.err == nobody) != (want.err == nobody)) {
			t.Errorf("%+v, the standard library's %+v; before:\n%+v", got, want, ours.seen[max(i-12, 0):i])
			return i, ambiguous
		}
	}
	if len(ours.seen) != len(standard.seen) {
		t.Errorf("%d observations, %d", len(ours.seen), len(standard.seen))
	}
	return len(ours.seen), ambiguous
}

// foreignContext is a context that the standard library did not make.
type foreignContext struct {
	context.Context
	done chan struct{}
	once sync.Once
}

func newForeignContext(ctx context.Context) *foreignContext {
	return &foreignContext{Context: ctx, done: make(chan struct{})}
}

func (c *foreignContext) cancel()               { c.once.Do(func() { close(c.done) }) }
func (c *foreignContext) Done() <-chan struct{} { return c.done }
func (c *foreignContext) Err() error {
	select {
	case <-c.done:
		return context.Canceled
	default:
		return nil
	}
}

// foreignWithAfterFunc is one that starts functions at its end by itself.
type foreignWithAfterFunc struct{ *foreignContext }

func (c foreignWithAfterFunc) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.foreignContext, f)
}
