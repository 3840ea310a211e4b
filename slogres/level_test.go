package slogres

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// SLOG-01
func TestAFirstFailureThatARetryMendsIsNoWarning(t *testing.T) {
	bus, h := events.NewBus(), &recorder{min: slog.LevelInfo}
	MustAttach(bus, Config{Handler: h})
	newPipeline(bus).mended(context.Background())
	if got := h.messages(); got != nil {
		t.Errorf("got %q above DEBUG", got)
	}
}

// SLOG-01
func TestAFailedCallIsOneWarning(t *testing.T) {
	bus, h := events.NewBus(), debugRecorder()
	MustAttach(bus, Config{Handler: h})
	p := newPipeline(bus)
	p.failed(context.Background())
	p.rejected(context.Background())
	var got []string
	for _, r := range h.atLevel(slog.LevelWarn) {
		got = append(got, r.Message)
	}
	if want := []string{"call failed", "call failed: rejected"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := len(h.atLevel(slog.LevelError)) + len(h.atLevel(slog.LevelInfo)); n != 0 {
		t.Errorf("%d records at other levels", n)
	}
}

// SLOG-01
func TestLevelsFollowTheSeverity(t *testing.T) {
	for _, c := range []struct {
		e    events.Event
		want slog.Level
	}{
		{events.AttemptFinished{Outcome: events.OutcomeFailure}, slog.LevelDebug},
		{events.RetryScheduled{}, slog.LevelDebug},
		{events.CallRejected{}, slog.LevelDebug},
		{events.ExecutionFinished{Outcome: events.OutcomeSuccess}, slog.LevelDebug},
		{events.ExecutionFinished{Outcome: events.OutcomeCanceled}, slog.LevelDebug},
		{events.ExecutionFinished{Outcome: events.OutcomeFailure}, slog.LevelWarn},
		{events.ExecutionFinished{Outcome: events.OutcomeTimeout}, slog.LevelWarn},
		{events.ExecutionFinished{Outcome: events.OutcomeRejected}, slog.LevelWarn},
		{events.TimedOut{}, slog.LevelWarn},
		{events.BreakerStateChanged{To: events.StateHalfOpen}, slog.LevelInfo},
		{events.BreakerStateChanged{To: events.StateClosed}, slog.LevelInfo},
		{events.BreakerStateChanged{To: events.StateOpen}, slog.LevelWarn},
		{events.HandlerPanicked{}, slog.LevelError},
		{events.CallbackPanicked{}, slog.LevelError},
	} {
		if got := LevelOf(c.e); got != c.want {
			t.Errorf("%T %+v: %v, want %v", c.e, c.e, got, c.want)
		}
	}
}

func TestLevelAndSkipCanBeOverridden(t *testing.T) {
	for _, buffered := range []int{0, 100} {
		bus, h := events.NewBus(), &recorder{min: slog.LevelInfo}
		detach := MustAttach(bus, Config{
			Handler: h,
			Level: func(e events.Event) slog.Level {
				if _, ok := e.(events.AttemptFinished); ok {
					return slog.LevelInfo
				}
				return LevelOf(e)
			},
			Skip:     func(e events.Event) bool { return e.EventName() == "execution.finished" },
			Buffered: buffered,
		})
		newPipeline(bus).failed(context.Background())
		detach()
		if got, want := h.messages(), []string{"attempt failed", "attempt failed"}; !slices.Equal(got, want) {
			t.Errorf("buffered %d: got %q, want %q", buffered, got, want)
		}
	}
}

// asked counts what a handler is asked and given.
type asked struct{ enabled, handled int }

func (a *asked) Enabled(context.Context, slog.Level) bool { a.enabled++; return false }
func (a *asked) Handle(context.Context, slog.Record) error {
	a.handled++
	return nil
}
func (a *asked) WithAttrs([]slog.Attr) slog.Handler { return a }
func (a *asked) WithGroup(string) slog.Handler      { return a }

func TestNothingIsDoneForALevelThatIsNotEnabled(t *testing.T) {
	bus, h := events.NewBus(), new(asked)
	MustAttach(bus, Config{
		Handler: h,
		Skip:    func(events.Event) bool { t.Error("Skip was asked"); return false },
		Trace:   func(context.Context) (string, string, bool) { t.Error("Trace was asked"); return "", "", false },
	})
	newPipeline(bus).failed(context.Background())
	if h.enabled == 0 || h.handled != 0 {
		t.Errorf("asked %d times, handled %d", h.enabled, h.handled)
	}
}
