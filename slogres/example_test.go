package slogres_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/slogres"
)

// plain leaves out what differs from run to run.
func plain(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case slog.TimeKey, events.KeyExecution, events.KeyAttemptNumber, events.KeyDuration, events.KeyWorking, events.KeyBackoff, events.KeyQueued, events.KeyCooldown:
		return slog.Attr{}
	}
	return a
}

func Example() {
	bus := events.NewBus() // a service uses events.Default()
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: plain})
	defer slogres.MustAttach(bus, slogres.Config{Handler: handler})()

	users := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "users.get",
		Layers: []resilience.Layer{
			resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay},
			resilience.MustBreaker(resilience.BreakerConfig{Name: "payments-db", ConsecutiveFailures: 2, Bus: bus}),
			resilience.Timeout{},
		},
		Bus: bus,
	})
	_, _ = users.Do(context.Background(), func(context.Context) (string, error) {
		return "", errors.New("connection refused by db01")
	})
	// Output:
	// level=WARN msg="circuit breaker opened" event.name=circuit_breaker.state_changed resilience.layer.name=payments-db resilience.layer.type=circuit_breaker resilience.circuit_breaker.state.from=closed resilience.circuit_breaker.state=open resilience.reason=consecutive calls=2 failures=2 failure_ratio=1 limit=2 resilience.circuit_breaker.seq=1 error.type=_OTHER
	// level=WARN msg="call failed" event.name=execution.finished resilience.pipeline.name=users.get resilience.outcome=failure resilience.reason=exhausted resilience.layer.name=retry resilience.layer.type=retry resilience.execution.attempts=2 error.type=_OTHER
}

func ExampleRoute() {
	bus := events.NewBus()
	alerts := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: plain}) // a pager
	all := slog.DiscardHandler                                                         // a log file
	defer slogres.MustAttach(bus, slogres.Config{Handler: slogres.MustRoute(alerts, all)})()

	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "payments-db", Cooldown: time.Minute, Bus: bus})
	db.ForceOpen()
	// Output:
	// level=WARN msg="circuit breaker forced open" event.name=circuit_breaker.state_changed resilience.layer.name=payments-db resilience.layer.type=circuit_breaker resilience.circuit_breaker.state.from=closed resilience.circuit_breaker.state=forced_open resilience.reason=manual calls=0 failures=0 failure_ratio=0 limit=5 resilience.circuit_breaker.seq=1
}

func ExampleConfig_level() {
	bus := events.NewBus()
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: plain})
	defer slogres.MustAttach(bus, slogres.Config{
		Handler: handler,
		Level: func(e events.Event) slog.Level {
			if _, ok := e.(events.CallRejected); ok {
				return slog.LevelInfo
			}
			return slogres.LevelOf(e)
		},
		Skip: func(e events.Event) bool { return e.EventName() == "execution.finished" },
	})()

	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "payments-db", Bus: bus})
	db.ForceOpen()
	ping := resilience.MustPipeline(resilience.PipelineConfig[struct{}]{Name: "ping", Layers: []resilience.Layer{db, resilience.Timeout{}}, Bus: bus})
	_ = ping.Run(context.Background(), func(context.Context) error { return nil })
	// Output:
	// level=WARN msg="circuit breaker forced open" event.name=circuit_breaker.state_changed resilience.layer.name=payments-db resilience.layer.type=circuit_breaker resilience.circuit_breaker.state.from=closed resilience.circuit_breaker.state=forced_open resilience.reason=manual calls=0 failures=0 failure_ratio=0 limit=5 resilience.circuit_breaker.seq=1
	// level=INFO msg="call rejected by a layer" event.name=call.rejected resilience.pipeline.name=ping resilience.layer.name=payments-db resilience.layer.type=circuit_breaker resilience.reason=forced_open
}
