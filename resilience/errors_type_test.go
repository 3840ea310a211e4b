package resilience_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// The errors of this package name their own class for the attribute error.type, also when they are wrapped.
func TestErrorsNameTheirClass(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	recovering := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", RecoverPanics: true, Bus: events.Off()})
	for want, err := range map[string]error{
		"breaker_open": &resilience.BreakerOpenError{},
		"limited":      resilience.Reject(events.ReasonRate, 0),
		"timeout":      &resilience.TimeoutError{Err: errBoom},
		"canceled":     ints(events.Off()).Run(gone, succeed),
		"panic":        recovering.Run(t.Context(), func(context.Context) error { panic("op") }),
	} {
		if got := events.ErrorType(fmt.Errorf("wrapped: %w", err)); got != want {
			t.Errorf("%T: %q, want %q", err, got, want)
		}
	}
}

// RET-03: a retry that is rejected on its way tells both the rejection and what had failed before, each once.
func TestARejectedRetryTellsWhatHadFailed(t *testing.T) {
	limited := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, Bus: events.Off()})
	var lease *resilience.Lease
	p := ints(events.Off(), resilience.Retry{Backoff: resilience.NoDelay, OnRetry: func(ctx context.Context, _ resilience.FailedAttempt) bool {
		lease, _ = limited.Acquire(ctx) // somebody else takes the place
		return true
	}}, limited)
	err := p.Run(t.Context(), fail)
	lease.Release(nil)
	if want := "resilience: bulkhead room rejected the call: full (1 of 1 running) (last attempt: boom)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Cooldown: time.Hour, Bus: events.Off()})
	db.ForceOpen()
	if err := db.Run(t.Context(), succeed); err == nil || err.Error() != "resilience: circuit breaker db is forced open" {
		t.Errorf("got %v", err)
	}
}

// keyed is a gate that looks at the calls.
type keyed struct {
	counting
	keys     []string
	attempts []int
}

func (k *keyed) Admit(ctx context.Context, call resilience.Call) (resilience.Permit, error) {
	k.keys, k.attempts = append(k.keys, call.Key()), append(k.attempts, call.Attempt())
	return k.counting.Admit(ctx, call)
}

func TestGatesSeeTheKeyAndTheAttempt(t *testing.T) {
	for _, bus := range []*events.Bus{events.Off(), events.NewBus()} {
		record(bus)
		gate := &keyed{}
		p := ints(bus, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}, gate)
		_, _ = p.DoKey(t.Context(), "k", returns(0, errBoom))
		_ = p.RunKey(t.Context(), "l", succeed)
		if fmt.Sprint(gate.keys, gate.attempts) != "[k k l] [1 2 1]" {
			t.Errorf("keys and attempts: %v %v", gate.keys, gate.attempts)
		}
	}
}
