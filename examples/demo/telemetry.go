package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	slogmulti "github.com/samber/slog-multi"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/promres"
	"github.com/telltale-go/telltale/slogres"
)

// telemetry is what the demo listens with: the three adapters, and what it reports from itself.
type telemetry struct {
	began       time.Time
	registry    *prometheus.Registry
	transitions *transitions
	spans       *traces
	destination string // where spans go
	logFile     string

	closers []func() error // in the order in which they were opened
}

// startTelemetry opts in, as a service's main does.
func startTelemetry(ctx context.Context, out io.Writer, began time.Time) (*telemetry, error) {
	t := &telemetry{began: began, registry: prometheus.NewRegistry(), spans: newTraces()}
	if err := t.attach(ctx, out); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

func (t *telemetry) attach(ctx context.Context, out io.Writer) error {
	bus := events.Default()
	providers, err := newProviders(ctx, t.spans)
	if err != nil {
		return err
	}
	t.destination = providers.destination
	t.onClose(providers.shutdown)

	detach, err := otelres.Attach(bus, otelres.Config{TracerProvider: providers.traces, MeterProvider: providers.metrics})
	if err != nil {
		return err
	}
	t.onDetach(detach)

	detach, err = promres.Attach(bus, promres.Config{Registerer: t.registry, Trace: otelres.SampledTraceIDs})
	if err != nil {
		return err
	}
	t.onDetach(detach)

	file, err := os.CreateTemp("", "telltale-demo-*.log")
	if err != nil {
		return err
	}
	t.logFile = file.Name()
	t.onClose(file.Close)
	detach, err = slogres.Attach(bus, slogres.Config{Handler: logHandler(out, file, t.began), Trace: otelres.TraceIDs})
	if err != nil {
		return err
	}
	t.onDetach(detach)

	t.transitions = listen(bus, t.began)
	t.onDetach(t.transitions.stop)
	return nil
}

// logHandler sends the breaker's openings and closings to the terminal, in short, and everything, as JSON, to a file.
func logHandler(out io.Writer, file io.Writer, began time.Time) slog.Handler {
	terminal := slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey:
			return slog.String("t", fmt.Sprintf("%.2fs", a.Value.Time().Sub(began).Seconds()))
		case slog.LevelKey, slog.MessageKey, events.KeyCalls, events.KeyFailures:
			return a
		case events.KeyLayerName:
			return slog.Attr{Key: "breaker", Value: a.Value}
		case events.KeyReason:
			return slog.Attr{Key: "reason", Value: a.Value}
		}
		return slog.Attr{}
	}})
	return slogmulti.Router().
		Add(terminal, slogmulti.AttrValueIs(events.KeyEventName, events.BreakerStateChanged{}.EventName()), notAProbe).
		Add(slog.NewJSONHandler(file, &slog.HandlerOptions{Level: slog.LevelDebug})).
		Handler()
}

// notAProbe leaves out the half-open state and what a failed probe leads to: an outage has many of them.
func notAProbe(_ context.Context, r slog.Record) bool {
	probe := false
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == events.KeyReason {
			probe = a.Value.String() == events.ReasonCooldown.String() || a.Value.String() == events.ReasonProbeFailed.String()
		}
		return !probe
	})
	return !probe
}

func (t *telemetry) onClose(f func() error) { t.closers = append(t.closers, f) }

func (t *telemetry) onDetach(f func()) { t.onClose(func() error { f(); return nil }) }

// close closes what was opened, the last first.
func (t *telemetry) close() error {
	var all []error
	for i := len(t.closers) - 1; i >= 0; i-- {
		all = append(all, t.closers[i]())
	}
	t.closers = nil
	return errors.Join(all...)
}

// stop closes and says what went wrong: it is no reason for the demo to fail.
func (t *telemetry) stop(out io.Writer) {
	if err := t.close(); err != nil {
		fmt.Fprintln(out, "closing the telemetry:", err)
	}
}
