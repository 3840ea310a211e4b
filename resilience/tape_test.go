package resilience_test

import (
	"context"
	"errors"
	"sync"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

var errBoom = errors.New("boom")

// tape holds every event of a bus, in the order of publication.
type tape struct {
	mu  sync.Mutex
	all []events.Event
}

func record(bus *events.Bus) *tape {
	t := new(tape)
	bus.Subscribe(func(_ context.Context, e events.Event) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.all = append(t.all, e)
	})
	return t
}

// heard returns the events of one type.
func heard[E events.Event](t *tape) []E {
	t.mu.Lock()
	defer t.mu.Unlock()
	var some []E
	for _, e := range t.all {
		if e, ok := e.(E); ok {
			some = append(some, e)
		}
	}
	return some
}

// names lists the events of the calls: those of the coming of sources, and of what is odd about them, are left out.
func (t *tape) names() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var names []string
	for _, e := range t.all {
		switch e.(type) {
		case events.SourceAdded, events.ConfigWarning:
		default:
			names = append(names, e.EventName())
		}
	}
	return names
}

// ints is a pipeline of ints with a bus.
func ints(bus *events.Bus, layers ...resilience.Layer) *resilience.Pipeline[int] {
	return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "ints", Layers: layers, Bus: bus})
}

// failing is an operation that fails the first n times and then succeeds; -1: it always fails.
type failing struct {
	n    int
	runs int
}

func (f *failing) run(context.Context) error {
	f.runs++
	if f.n < 0 || f.runs <= f.n {
		return errBoom
	}
	return nil
}

func succeed(context.Context) error { return nil }

func fail(context.Context) error { return errBoom }

// apart runs f on a goroutine of its own, which f may end.
func apart(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}
