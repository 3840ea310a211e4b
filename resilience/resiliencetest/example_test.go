package resiliencetest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

var errDown = errors.New("down")

func ExampleScript() {
	op := resiliencetest.Script(resiliencetest.Fails[int](errDown).Times(2), resiliencetest.Returns(42))
	v, err := resilience.Do(context.Background(), op.Do, resilience.Retry{Backoff: resilience.NoDelay})
	fmt.Println(v, err, op.Runs())
	// Output: 42 <nil> 3
}

func ExampleRecord() {
	bus := events.NewBus()
	rec := resiliencetest.Record(bus)
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{
		Name: "users.get", Bus: bus,
		Layers: []resilience.Layer{resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(time.Millisecond)}},
	})
	_ = p.Run(context.Background(), resiliencetest.Script(resiliencetest.Fails[int](errDown), resiliencetest.Returns(1)).Run)

	for _, e := range resiliencetest.Of[events.RetryScheduled](rec) {
		fmt.Println(e.Meta.Attempt, e.Delay, e.Err)
	}
	fmt.Println(rec.Tape())
	// Output:
	// 1 1ms down
	// execution.started users.get
	// attempt.started users.get attempt.number=1 attempt.kind=initial delay_s=0
	// attempt.finished users.get attempt.number=1 attempt.kind=initial outcome=failure error.type=_OTHER
	// retry.scheduled users.get/retry attempt.number=1 delay_s=0.001 error.type=_OTHER
	// attempt.started users.get attempt.number=2 attempt.kind=retry delay_s=0.001
	// attempt.finished users.get attempt.number=2 attempt.kind=retry outcome=success
	// execution.finished users.get outcome=success execution.attempts=2
}

// turnstile lets one call through at a time. It is a gate of one's own, to be tested.
type turnstile struct{ busy chan struct{} }

func newTurnstile() resilience.Gate { return &turnstile{make(chan struct{}, 1)} }

func (*turnstile) LayerInfo() resilience.LayerInfo {
	return resilience.LayerInfo{Name: "turnstile", Type: "turnstile"}
}

func (s *turnstile) Admit(context.Context, resilience.Call) (resilience.Permit, error) {
	select {
	case s.busy <- struct{}{}:
		return resilience.Permit{}, nil
	default:
		return resilience.Permit{}, resilience.Reject(events.ReasonFull, 0)
	}
}

func (s *turnstile) Settle(context.Context, resilience.Call, resilience.Permit, resilience.Outcome) {
	<-s.busy
}

// In one's own test:
//
//	func TestTurnstile(t *testing.T) {
//		resiliencetest.TestGate(t, newTurnstile, resiliencetest.GateOptions{Concurrent: 1})
//	}
func ExampleTestGate() {
	tests := []testing.InternalTest{{Name: "TestTurnstile", F: func(t *testing.T) {
		resiliencetest.TestGate(t, newTurnstile, resiliencetest.GateOptions{Concurrent: 1})
	}}}
	fmt.Println("sound:", testing.RunTests(func(_, name string) (bool, error) { return true, nil }, tests))
	// Output: sound: true
}
