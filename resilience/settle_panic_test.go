package resilience_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-13: a gate of the user's that panics when it settles a held value which nobody waits for is published, since there
// is no caller to get the panic. The process goes on.
func TestAGateThatPanicsOverAnAbandonedValueIsPublished(t *testing.T) {
	for what, layer := range map[string]resilience.Layer{
		"a run that lost":         resilience.Hedge{Delay: time.Second},
		"an abandoned run":        resilience.Timeout{After: 2 * time.Second, Abandon: true},
		"a flight that all leave": joined(),
		"a flight that is late":   joined(),
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus,
				Layers:  []resilience.Layer{layer, resilience.Timeout{Name: "inside", After: 4 * time.Second}, rude{func() { panic("rude") }}},
				Hold:    func(v int, _ resilience.Held) int { return v },
				Discard: func(int) error { return nil }})
			patience, takes := 10*time.Second, 3*time.Second
			switch what {
			case "a flight that all leave":
				patience = time.Second
			case "a flight that is late":
				takes = 5 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			v, err := p.DoKey(ctx, "k", func(context.Context) (int, error) { time.Sleep(takes); return 1, nil })
			if (err == nil) != (what == "a run that lost") || p.Close(t.Context()) != nil {
				t.Errorf("%s: %d, %v", what, v, err)
			}
			if told := heard[events.CallbackPanicked](tape); len(told) != 1 || told[0].Callback != "Gate.Settle" || told[0].Value != "rude" {
				t.Errorf("%s: %+v", what, told)
			}
		})
	}
}
