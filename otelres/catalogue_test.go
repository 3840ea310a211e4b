package otelres

import (
	"slices"
	"testing"

	"github.com/telltale-go/telltale/events"
	"go.opentelemetry.io/otel/metric/noop"
)

// BUS-13: what is handled is read off the subscriptions themselves.
func TestEveryKindOfEventIsHandledOrSkippedByName(t *testing.T) {
	bus := events.NewBus()
	a := &adapter{in: newInstruments(noop.Meter{}, DurationsAll)}
	var handled, known []string
	for _, s := range a.subscribe(bus) {
		handled = append(handled, s.kinds...)
		defer s.cancel()
	}
	for _, k := range events.Catalogue() {
		known = append(known, k.Name)
		is, isNot := slices.Contains(handled, k.Name), slices.Contains(skipped, k.Name)
		switch {
		case is && isNot:
			t.Errorf("%s is both handled and skipped (subscribe.go)", k.Name)
		case !is && !isNot:
			t.Errorf("%s is neither handled nor skipped: subscribe to it in subscribe.go, or add it to skipped there", k.Name)
		}
	}
	for _, name := range slices.Concat(handled, skipped) {
		if !slices.Contains(known, name) {
			t.Errorf("%s is not in events.Catalogue", name)
		}
	}
	for name, heard := range map[string]bool{
		events.ExecutionStarted{}.EventName():    bus.Execution.Heard(),
		events.AttemptStarted{}.EventName():      bus.Attempt.Heard(),
		events.RetryScheduled{}.EventName():      bus.RetryScheduled.Heard(),
		events.RetryStopped{}.EventName():        bus.RetryStopped.Heard(),
		events.CallRejected{}.EventName():        bus.CallRejected.Heard(),
		events.TimedOut{}.EventName():            bus.TimedOut.Heard(),
		events.LateResult{}.EventName():          bus.LateResult.Heard(),
		events.BreakerStateChanged{}.EventName(): bus.BreakerStateChanged.Heard(),
		events.DiscardFailed{}.EventName():       bus.DiscardFailed.Heard(),
		events.CallbackPanicked{}.EventName():    bus.CallbackPanicked.Heard(),
		events.HandlerPanicked{}.EventName():     bus.HandlerPanicked.Heard(),
	} {
		if heard != slices.Contains(handled, name) {
			t.Errorf("%s: heard is %v, against its listing", name, heard)
		}
	}
}
