package resilience_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// late is a gate of the user's around another, which tells that one how calls ended a second after they have.
type late struct{ resilience.Gate }

func (l late) Settle(ctx context.Context, call resilience.Call, permit resilience.Permit, outcome resilience.Outcome) {
	time.AfterFunc(time.Second, func() { l.Gate.Settle(ctx, call, permit, outcome) })
}

// PIPE-04: a gate of the user's, also one by key, may keep a call: what is told of it later is that call's.
func TestAGateMayKeepACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := events.NewBus()
		db := func() resilience.Gate {
			return late{resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Cooldown: time.Hour, Bus: bus})}
		}
		for what, gate := range map[string]resilience.Gate{
			"itself": db(),
			"by key": resilience.MustKeyed(resilience.KeyedConfig{Name: "keyed", Bus: bus, New: func(string) (resilience.Gate, error) { return db(), nil }}),
		} {
			tape := record(bus)
			p := ints(bus, gate)
			_, _ = p.DoKey(t.Context(), "first", func(context.Context) (int, error) { return 0, errBoom })
			_, _ = ints(bus).DoKey(t.Context(), "second", func(context.Context) (int, error) { time.Sleep(2 * time.Second); return 0, errors.New("second") })
			told, began := heard[events.BreakerStateChanged](tape), heard[events.ExecutionStarted](tape)
			if len(told) != 1 || told[0].Execution != began[0].Execution || told[0].Key != "first" || told[0].Execution == began[1].Execution {
				t.Errorf("%s: %+v, the executions were %+v", what, told, began)
			}
		}
	})
}
