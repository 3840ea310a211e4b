package resilience_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-13, PITFALL-32: whatever panics or ends the goroutine, a budget has given a token for each extra attempt that
// started, no other, and the next call has its retries.
func TestNoTokenIsLostByPanicsAndGoexit(t *testing.T) {
	for how, misbehave := range map[string]func(){"panic": func() { panic("oh") }, "goexit": runtime.Goexit} {
		for _, name := range []string{"first run", "second run", "Classify", "If", "Delay", "OnRetry", "Backoff", "Rand",
			"attempt.started", "attempt.finished", "retry.scheduled", "retry.stopped", "execution.finished"} {
			synctest.Test(t, func(t *testing.T) {
				s := &site{name: name, misbehave: misbehave}
				bus := events.NewBus()
				bus.Subscribe(func(_ context.Context, e events.Event) { s.at(e.EventName()) })
				replenishing, feedback := allowance(20), tokens(40)
				started, extra := 0, 0
				layers := func(b *resilience.RetryBudget) []resilience.Layer {
					return []resilience.Layer{resilience.Retry{MaxAttempts: 2, Jitter: resilience.JitterEqual, Budget: b,
						Backoff: resilience.BackoffFunc(func(int, time.Duration) time.Duration { s.at("Backoff"); return time.Second }),
						If:      func(error) bool { s.at("If"); return true },
						OnRetry: func(context.Context, resilience.FailedAttempt) bool { s.at("OnRetry"); return true },
						Delay:   func(resilience.FailedAttempt) time.Duration { s.at("Delay"); return resilience.KeepDelay },
						Rand:    func() float64 { s.at("Rand"); return 0.5 }}}
				}
				call := func(b *resilience.RetryBudget) {
					p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus, Layers: layers(b),
						Classify: func(_ int, err error) error { s.at("Classify"); return err }})
					survive(func() {
						p.Do(t.Context(), func(ctx context.Context) (int, error) {
							started++
							if s.at("first run"); resilience.AttemptNumber(ctx) > 1 {
								extra++
								s.at("second run")
							}
							return 0, errBoom
						})
					})
				}
				call(replenishing)
				if taken := 20 - replenishing.Available(); taken != extra || !s.reached.Load() {
					t.Errorf("%s in %s (reached: %t): %d tokens for %d extra attempts", how, name, s.reached.Load(), taken, extra)
				}
				started = 0
				s.reached.Store(false)
				call(feedback)
				if taken := 20 - feedback.Available(); taken > started {
					t.Errorf("%s in %s: %d tokens for %d attempts", how, name, taken, started)
				}
				for _, b := range []*resilience.RetryBudget{replenishing, feedback} {
					extra = 0
					if call(b); extra != 1 {
						t.Errorf("%s in %s: %d extra attempts of the next call, want 1", how, name, extra)
					}
				}
			})
		}
	}
}
