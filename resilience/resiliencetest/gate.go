package resiliencetest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// GateOptions tell [TestGate] what can be expected of a gate.
type GateOptions struct {
	// Concurrent is how many calls the gate admits at once, not one more, however earlier ones have ended. Zero: there is no
	// such limit, and permits are not counted.
	Concurrent int
	// Calls is how many calls, one after another, that all succeed, a new gate admits at least. Zero means 1000.
	Calls int
	// Refusing makes a gate that refuses the next call. Nil: where Concurrent is set, a full one is used; else refusals are
	// not checked.
	Refusing func() resilience.Gate
}

// TestGate checks, in a subtest each, that a gate keeps what every gate must: that it describes itself the same way always,
// tells why it refuses, takes every outcome, gets back every permit however its call ends, admits nobody whose context
// ended while it waited, leaves no goroutine behind, stands concurrent use (run it with -race), and may be used outside of
// synctest bubbles and in several one after another. new makes another gate each time; it is called inside of bubbles,
// too, where a gate must not start a goroutine that never ends.
//
// A gate that holds a channel or a timer of one bubble and uses it outside ends the process with "fatal error: ... from
// outside bubble": the runtime does not let it be caught.
func TestGate(t *testing.T, new func() resilience.Gate, options GateOptions) {
	t.Helper()
	for _, c := range gateChecks {
		t.Run(c.name, func(t *testing.T) { c.run(newGateKit(kit{t, t}, new, options)) })
	}
}

type gateKit struct {
	kit
	GateOptions
	new func() resilience.Gate
}

func newGateKit(k kit, new func() resilience.Gate, options GateOptions) gateKit {
	if options.Calls == 0 {
		options.Calls = 1000
	}
	return gateKit{k, options, new}
}

var gateChecks = []struct {
	name string
	run  func(gateKit)
}{
	{"describes itself the same way always", gateKit.describes},
	{"admits calls that succeed", gateKit.admits},
	{"tells why it refuses", gateKit.tellsWhy},
	{"takes every outcome", gateKit.takesEveryOutcome},
	{"gets every permit back", gateKit.getsPermitsBack},
	{"admits nobody whose context ended", gateKit.admitsNobodyDone},
	{"leaves no goroutine", gateKit.leavesNoGoroutine},
	{"stands concurrent use", gateKit.standsConcurrentUse},
	{"serves bubbles one after another", gateKit.servesBubbles},
}

// pipeline puts the gate into a pipeline on a bus.
func (k gateKit) pipeline(bus *events.Bus, gate resilience.Gate) *resilience.Pipeline[int] {
	p, err := resilience.NewPipeline(resilience.PipelineConfig[int]{Name: "kit", Layers: []resilience.Layer{gate}, Bus: bus})
	if err != nil {
		k.errorf("it does not fit a pipeline: %v", err)
		return resilience.PassThrough[int]()
	}
	return p
}

func (k gateKit) describes() {
	gate := k.new()
	first := gate.LayerInfo()
	p := k.pipeline(events.NewBus(), gate)
	for range min(k.Calls, 10) {
		_ = p.Run(context.Background(), succeed)
	}
	if now := gate.LayerInfo(); !reflect.DeepEqual(first, now) {
		k.errorf("LayerInfo changes: %+v at first, then %+v; its parts become labels", first, now)
	}
	if other := k.new().LayerInfo(); other.Name != first.Name || other.Type != first.Type {
		k.errorf("another gate of the same making has another name or type: %+v, %+v", first, other)
	}
}

func (k gateKit) admits() {
	k.guarded(func() {
		p, ran := k.pipeline(events.NewBus(), k.new()), 0
		for i := range k.Calls {
			if err := p.Run(context.Background(), func(context.Context) error { ran++; return nil }); err != nil {
				k.errorf("call %d of %d is refused: %v (GateOptions.Calls)", i+1, k.Calls, err)
				return
			}
		}
		if ran != k.Calls {
			k.errorf("%d of %d operations ran", ran, k.Calls)
		}
	})
}

func (k gateKit) tellsWhy() {
	k.bubble(func() {
		gate, free := k.refusing()
		if gate == nil {
			return
		}
		defer free()
		ctx, cancel := context.WithTimeout(context.Background(), 24*time.Hour)
		defer cancel()
		bus := events.NewBus()
		rec := Record(bus)
		p := k.pipeline(bus, gate)
		for range 3 {
			_, err := gate.Admit(ctx, resilience.Call{})
			if err == nil {
				k.errorf("it admits a call where it should refuse")
				return
			}
			if errors.Is(err, ctx.Err()) && ctx.Err() != nil {
				return // it has no end of waiting: it refuses nobody
			}
			k.refusalTells(err)
			if err := p.Run(ctx, succeed); !errors.Is(err, resilience.ErrLimited) && !errors.Is(err, resilience.ErrBreakerOpen) {
				k.errorf("a pipeline's caller gets %v, which is no refusal", err)
			}
		}
		for _, e := range Of[events.CallRejected](rec) {
			if e.Reason == 0 {
				k.errorf("a refusal is published without a reason: %s", line(e))
			}
		}
	})
}

func (k gateKit) refusalTells(err error) {
	var limited *resilience.LimitedError
	var open *resilience.BreakerOpenError
	switch {
	case errors.As(err, &open):
	case !errors.As(err, &limited):
		k.errorf("it refuses with a %T (%v): use resilience.Reject, so that telemetry can tell why", err, err)
	case limited.Reason == 0:
		k.errorf("it refuses without a reason: %v", err)
	case limited.RetryAfter() < 0:
		k.errorf("it asks to come back in %v", limited.RetryAfter())
	}
}

// refusing returns a gate that refuses, and what ends that; nil if there is none to be had. It is for bubbles.
func (k gateKit) refusing() (gate resilience.Gate, free func()) {
	if k.Refusing != nil {
		return k.Refusing(), func() {}
	}
	if k.Concurrent == 0 {
		return nil, nil
	}
	gate = k.new()
	permits := k.fill(gate)
	return gate, func() { k.settle(gate, permits, resilience.Succeeded) }
}

// fill takes all permits of a gate. It is for bubbles.
func (k gateKit) fill(gate resilience.Gate) (permits []resilience.Permit) {
	for range k.Concurrent {
		permit, err := admitNow(gate)
		if err != nil {
			k.errorf("a gate that admits %d at once has no room after %d: %v", k.Concurrent, len(permits), err)
			break
		}
		permits = append(permits, permit)
	}
	return permits
}

func (k gateKit) settle(gate resilience.Gate, permits []resilience.Permit, kind resilience.OutcomeKind) {
	for _, permit := range permits {
		gate.Settle(context.Background(), resilience.Call{}, permit, outcome(kind))
	}
}

func outcome(kind resilience.OutcomeKind) resilience.Outcome {
	o := resilience.Outcome{Kind: kind}
	if kind != resilience.Succeeded {
		o.Err = errKit
	}
	return o
}

var errWaits = errors.New("the call has to wait")

// admitNow asks for a permit that is there without waiting. It is for bubbles.
func admitNow(gate resilience.Gate) (resilience.Permit, error) {
	type answer struct {
		permit resilience.Permit
		err    error
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		permit, err := gate.Admit(ctx, resilience.Call{})
		answers <- answer{permit, err}
	}()
	synctest.Wait()
	select {
	case a := <-answers:
		return a.permit, a.err
	default:
		return resilience.Permit{}, errWaits
	}
}
