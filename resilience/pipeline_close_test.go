package resilience_test

import (
	"context"
	"encoding/json"
	"reflect"
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

const described = `{
	"name": "users.get",
	"layers": [
		{"position": 0, "name": "room", "type": "bulkhead", "shared": "room",
		 "settings": [{"name": "max_concurrent", "value": "100"}, {"name": "max_queue", "value": "0"}]},
		{"position": 1, "name": "timeout_1", "type": "timeout", "settings": [{"name": "after", "value": "10s"}]},
		{"position": 2, "name": "retry", "type": "retry", "settings": [
			{"name": "max_attempts", "value": "3"}, {"name": "backoff", "value": "exponential 250ms x2"}, {"name": "jitter", "value": "equal"},
			{"name": "max_delay", "value": "30s"}, {"name": "retry_rejections", "value": "false"}, {"name": "deadline_aware", "value": "true"}]},
		{"position": 3, "name": "db", "type": "circuit_breaker", "shared": "db", "settings": [
			{"name": "failure_ratio", "value": "0.5"}, {"name": "min_calls", "value": "20"}, {"name": "window", "value": "30s"},
			{"name": "cooldown", "value": "30s"}, {"name": "probes", "value": "1"}, {"name": "probe_successes", "value": "1"}, {"name": "max_probe_time", "value": "1m0s"}]},
		{"position": 4, "name": "timeout_4", "type": "timeout", "settings": [{"name": "after", "value": "500ms"}]},
		{"position": 5, "name": "mine", "type": "around", "settings": []}
	]
}`

// PIPE-18
func TestDescribeShowsTheTopologyAndRoundTripsThroughJSON(t *testing.T) {
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "users.get", Bus: events.Off(), Layers: []resilience.Layer{
		resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", Bus: events.Off()}),
		resilience.Timeout{},
		resilience.Retry{},
		resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, Bus: events.Off()}),
		resilience.Timeout{After: 500 * time.Millisecond},
		resilience.Around("mine", func(ctx context.Context, next func(context.Context) error) error { return next(ctx) }),
	}})
	for _, d := range []resilience.Description{p.Describe(), resilience.PassThrough[int]().Describe()} {
		text, err := json.Marshal(d)
		var back resilience.Description
		if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, d) {
			t.Errorf("%s came back as %+v, %v", text, back, err)
		}
	}
	var want resilience.Description
	if err := json.Unmarshal([]byte(described), &want); err != nil {
		t.Fatal(err)
	}
	if got := p.Describe(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
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
