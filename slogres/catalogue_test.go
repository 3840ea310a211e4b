package slogres

import (
	"context"
	"slices"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// publishers publish one event of each kind, as its publisher does.
func publishers(bus *events.Bus) map[string]func() {
	ctx := context.Background()
	execution := func() {
		var ends events.Ends[events.ExecutionFinished]
		bus.Execution.Begin(ctx, events.ExecutionStarted{}, &ends)
		ends.Finish(events.ExecutionFinished{Outcome: events.OutcomeFailure})
	}
	attempt := func() {
		var ends events.Ends[events.AttemptFinished]
		bus.Attempt.Begin(ctx, events.AttemptStarted{}, &ends)
		ends.Finish(events.AttemptFinished{Outcome: events.OutcomeFailure})
	}
	source := func() {
		bus.Remove(bus.NewSource(events.SourceSpec{Pipeline: "p", Type: events.TypePipeline}))
	}
	return map[string]func(){
		"execution.started":             execution,
		"execution.finished":            execution,
		"attempt.started":               attempt,
		"attempt.finished":              attempt,
		"retry.scheduled":               func() { bus.RetryScheduled.Publish(ctx, events.RetryScheduled{}) },
		"retry.stopped":                 func() { bus.RetryStopped.Publish(ctx, events.RetryStopped{}) },
		"call.rejected":                 func() { bus.CallRejected.Publish(ctx, events.CallRejected{}) },
		"timeout.fired":                 func() { bus.TimedOut.Publish(ctx, events.TimedOut{}) },
		"result.late":                   func() { bus.LateResult.Publish(ctx, events.LateResult{}) },
		"circuit_breaker.state_changed": func() { bus.BreakerStateChanged.Publish(ctx, events.BreakerStateChanged{}) },
		"hedge.started":                 func() { bus.HedgeStarted.Publish(ctx, events.HedgeStarted{}) },
		"hedge.settled":                 func() { bus.HedgeSettled.Publish(ctx, events.HedgeSettled{}) },
		"hedge.denied":                  func() { bus.HedgeDenied.Publish(ctx, events.HedgeDenied{}) },
		"fallback.used":                 func() { bus.FallbackUsed.Publish(ctx, events.FallbackUsed{}) },
		"singleflight.joined":           func() { bus.FlightJoined.Publish(ctx, events.FlightJoined{}) },
		"limit.changed":                 func() { bus.LimitChanged.Publish(ctx, events.LimitChanged{}) },
		"key.evicted":                   func() { bus.KeyEvicted.Publish(ctx, events.KeyEvicted{}) },
		"call.shadow_rejected":          func() { bus.ShadowRejected.Publish(ctx, events.ShadowRejected{}) },
		"fault.injected":                func() { bus.FaultInjected.Publish(ctx, events.FaultInjected{}) },
		"config.warning":                func() { bus.ConfigWarning.Publish(ctx, events.ConfigWarning{}) },
		"discard.failed":                func() { bus.DiscardFailed.Publish(ctx, events.DiscardFailed{}) },
		"callback.panicked":             func() { bus.CallbackPanicked.Publish(ctx, events.CallbackPanicked{}) },
		"handler.panicked":              func() { bus.HandlerPanicked.Publish(ctx, events.HandlerPanicked{}) },
		"source.added":                  source,
		"source.removed":                source,
	}
}

// skippedByDefault are the kinds that get no record unless Config.Skip says otherwise.
var skippedByDefault = []string{"execution.started", "attempt.started"}

// BUS-13
func TestEveryKindOfEventIsLoggedOrSkippedByName(t *testing.T) {
	for _, k := range events.Catalogue() {
		bus, h := events.NewBus(), debugRecorder()
		publish := publishers(bus)[k.Name]
		if publish == nil {
			t.Errorf("%s is new: subscribe to it in attachment.subscribe (attach.go), give it a sentence in message "+
				"(message.go) and publish it here; or skip it by name in SkipStarts (config.go) and skippedByDefault", k.Name)
			continue
		}
		detach := MustAttach(bus, Config{Handler: h})
		publish()
		detach()
		records := h.of(k.Name)
		if slices.Contains(skippedByDefault, k.Name) {
			if len(records) != 0 || !SkipStarts(k.Zero) {
				t.Errorf("%s: %d records, want none by default", k.Name, len(records))
			}
			detach := MustAttach(bus, Config{Handler: h, Skip: func(events.Event) bool { return false }})
			publish()
			detach()
			records = h.of(k.Name)
		}
		if len(records) != 1 {
			t.Errorf("%s: %d records, want 1: is it in attachment.subscribe (attach.go)?", k.Name, len(records))
		} else if records[0].Message == "" {
			t.Errorf("%s has no sentence: add it to message (message.go)", k.Name)
		}
	}
}

func TestEveryOutcomeAndStateHasASentenceOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	sentence := func(e events.Event) {
		m := message(e)
		if m == "" || seen[m] {
			t.Errorf("%T %+v: sentence %q is missing or not its own (message.go)", e, e, m)
		}
		seen[m] = true
	}
	for _, o := range events.Outcomes() {
		sentence(events.ExecutionFinished{Outcome: o})
		sentence(events.AttemptFinished{Outcome: o})
	}
	sentence(events.ExecutionFinished{})
	sentence(events.AttemptFinished{})
	for _, s := range events.States() {
		sentence(events.BreakerStateChanged{To: s})
	}
	sentence(events.BreakerStateChanged{})
	for _, k := range []events.AttemptKind{0, events.AttemptInitial, events.AttemptHedge} {
		sentence(events.HedgeSettled{Kind: k})
	}
	for _, r := range append(events.FlightRoles(), 0) {
		sentence(events.FlightJoined{Role: r})
	}
	for _, f := range append(events.Faults(), 0) {
		sentence(events.FaultInjected{Fault: f})
	}
	sentence(events.FallbackUsed{Outcome: events.OutcomeFallback})
	sentence(events.FallbackUsed{Outcome: events.OutcomeFailure})
}
