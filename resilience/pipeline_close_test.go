package resilience_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-17
func TestCloseRefusesCallsAndTakesThePipelineOffItsBus(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: bus})
	p, q := ints(bus, db), resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "pass_through", Layers: []resilience.Layer{db}, Bus: bus})
	running := p.Run(t.Context(), func(ctx context.Context) error {
		for range 2 { // closing twice is harmless
			if err := p.Close(ctx); err != nil {
				t.Error(err)
			}
		}
		if err := p.Run(ctx, succeed); err != resilience.ErrClosed {
			t.Errorf("a call after Close: %v", err)
		}
		return ctx.Err()
	})
	if running != nil {
		t.Errorf("the call that ran: %v", running)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Run(done, succeed); err != resilience.ErrClosed {
		t.Errorf("a closed pipeline, a caller who has left: %v", err)
	}
	if err := q.Run(t.Context(), succeed); err != nil || db.Run(t.Context(), succeed) != nil {
		t.Errorf("what is shared stays usable: %v", err)
	}
	if left := bus.Sources(); len(left) != 2 || left[0].Layer() != "db" || left[1].Pipeline() != "pass_through" {
		t.Errorf("live: %v", left)
	}
	if err := q.Close(done); err != nil || len(bus.Sources()) != 1 {
		t.Errorf("closed with a context that is done: %v, %d live", err, len(bus.Sources()))
	}
	if gone := heard[events.SourceRemoved](tape); len(gone) != 2 {
		t.Errorf("%d sources left, want the pipelines, once each", len(gone))
	}
	if d := p.Describe(); d.Name != "ints" || len(d.Layers) != 1 {
		t.Errorf("described after Close: %+v", d)
	}
}

// PIPE-17
func TestAPipelineThatNobodyMadeIsNotUsable(t *testing.T) {
	var p resilience.Pipeline[int]
	if err := p.Run(t.Context(), succeed); err == nil || err == resilience.ErrClosed || p.Close(t.Context()) != nil {
		t.Errorf("got %v", err)
	}
	if d := p.Describe(); d.Name != "" || d.Layers != nil {
		t.Errorf("described %+v", d)
	}
}

// PIPE-18: the bus has the same.
func TestTheBusKnowsWhatDescribeShows(t *testing.T) {
	bus := events.NewBus()
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: bus})
	p := ints(bus, resilience.Retry{}, db)
	sources := bus.Sources()
	layers := sources[1].Layers()
	for i, l := range p.Describe().Layers {
		s := layers[i]
		if s.Pipeline() != "ints" || s.Layer() != l.Name || s.Type() != l.Type || s.Position() != l.Position || !strings.HasPrefix(s.Settings(), l.Settings[0].Name+"="+l.Settings[0].Value) {
			t.Errorf("layer %d: %+v, described %+v", i, s, l)
		}
	}
	if layers[1].Shared() != sources[0] || layers[0].Shared() != nil {
		t.Error("the breaker's state is not the layer's")
	}
}

// inBubble counts the goroutines of the synctest bubble, the only one there is.
func inBubble() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "synctest bubble")
}

// PIPE-20
func TestNoGoroutineOutlivesACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := inBubble()
		p := ints(events.NewBus(), everyLayer()...)
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		for _, op := range []func(context.Context) error{succeed, fail, hang} {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			p.Run(ctx, op)
			cancel()
			s, err := streams(nil, resilience.Timeout{}, resilience.Retry{}, resilience.Timeout{After: time.Second}).Do(t.Context(), openStream)
			if err != nil {
				t.Fatal(err)
			}
			s.release(nil)
			synctest.Wait()
			if after := inBubble(); before == 0 || after != before {
				t.Errorf("%d goroutines before the call, %d after", before, after)
			}
		}
	})
}
