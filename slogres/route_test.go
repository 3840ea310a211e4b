package slogres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/slogtest"

	"github.com/telltale-go/telltale/events"
)

// incident is a failed call, a breaker that opens, and one that closes again.
func incident(p *pipeline) {
	ctx := context.Background()
	p.failed(ctx)
	p.transition(ctx, 1, events.StateClosed, events.StateOpen, events.ReasonRatio)
	p.transition(ctx, 2, events.StateOpen, events.StateHalfOpen, events.ReasonCooldown)
	p.transition(ctx, 3, events.StateHalfOpen, events.StateClosed, events.ReasonProbesOK)
	p.mended(ctx)
}

var alertsOfIncident = []string{"call failed", "circuit breaker opened", "circuit breaker half-open", "circuit breaker closed"}

// SLOG-01
func TestTransitionsAndWarningsGoToAlertsAndEverythingToAll(t *testing.T) {
	for _, derive := range []func(*Router) slog.Handler{
		func(r *Router) slog.Handler { return r },
		func(r *Router) slog.Handler { return r.WithAttrs([]slog.Attr{slog.String("service", "users")}) },
		func(r *Router) slog.Handler { return r.WithGroup("resilience") },
	} {
		bus := events.NewBus()
		p := newPipeline(bus)
		alerts, all, reference := debugRecorder(), debugRecorder(), debugRecorder()
		MustAttach(bus, Config{Handler: derive(MustRoute(alerts, all))})
		MustAttach(bus, Config{Handler: reference})
		incident(p)
		if got := alerts.messages(); !slices.Equal(got, alertsOfIncident) {
			t.Errorf("alerts got %q", got)
		}
		if got := all.messages(); !slices.Equal(got, reference.messages()) {
			t.Errorf("all got %q", got)
		}
	}
}

func TestARouteAsksEachHandlerForItsLevel(t *testing.T) {
	bus := events.NewBus()
	alerts, all := &recorder{min: slog.LevelError}, &recorder{min: slog.LevelInfo}
	r := MustRoute(alerts, all)
	MustAttach(bus, Config{Handler: r})
	incident(newPipeline(bus))
	if len(alerts.all()) != 0 || !slices.Equal(all.messages(), alertsOfIncident) {
		t.Errorf("alerts %q, all %q", alerts.messages(), all.messages())
	}
	if r.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("it takes what neither handler takes")
	}
}

// failing is a handler that fails in a way.
type failing struct {
	enabled, handle func() error // nil: as it should
}

func (f failing) Enabled(context.Context, slog.Level) bool {
	return f.enabled == nil || f.enabled() == nil
}

func (f failing) Handle(context.Context, slog.Record) error {
	if f.handle == nil {
		return nil
	}
	return f.handle()
}

func (f failing) WithAttrs([]slog.Attr) slog.Handler { return f }
func (f failing) WithGroup(string) slog.Handler      { return f }

// SLOG-01
func TestAFailingOrPanickingHandlerAffectsNeitherTheOtherNorTheCall(t *testing.T) {
	fail := func() error { return errors.New("disk full") }
	crash := func() error { panic("disk gone") }
	crashWithError := func() error { panic(errDown) }
	for name, bad := range map[string]failing{
		"error":            {handle: fail},
		"panic":            {handle: crash},
		"panic with error": {handle: crashWithError},
		"panic in Enabled": {enabled: crash, handle: func() error {
			t.Error("a handler whose Enabled panicked got a record")
			return nil
		}},
	} {
		for _, first := range []bool{true, false} {
			bus, good := events.NewBus(), &recorder{min: slog.LevelInfo}
			r := MustRoute(bad, good)
			if !first {
				r = MustRoute(good, bad)
			}
			p := newPipeline(bus)
			detach := MustAttach(bus, Config{Handler: r})
			incident(p)
			detach()
			if got := good.messages(); !slices.Equal(got, alertsOfIncident) {
				t.Errorf("%s, first %v: the other got %q", name, first, got)
			}
			if n := bus.HandlerPanics(); n != 0 {
				t.Errorf("%s, first %v: %d panics reached the bus", name, first, n)
			}
			if r.Errors() < uint64(len(alertsOfIncident)) {
				t.Errorf("%s, first %v: %d errors counted", name, first, r.Errors())
			}
		}
	}
}

func TestARouteCountsEachFailureOnce(t *testing.T) {
	fail := func() error { return errors.New("disk full") }
	crash := func() error { panic("disk gone") }
	for _, bad := range []failing{{handle: fail}, {handle: crash}} {
		r := MustRoute(bad, debugRecorder())
		derived := r.WithGroup("g").WithAttrs([]slog.Attr{slog.Int("n", 1)}).(*Router)
		slog.New(r).Warn("one")
		slog.New(derived).Warn("two")
		slog.New(derived).Info("no alert")
		if r.Errors() != 2 || derived.Errors() != 2 {
			t.Errorf("counted %d and %d, want 2", r.Errors(), derived.Errors())
		}
	}
}

func TestRouteRefusesNilHandlers(t *testing.T) {
	for _, h := range [][2]slog.Handler{{nil, slog.DiscardHandler}, {slog.DiscardHandler, nil}} {
		if r, err := Route(h[0], h[1]); err == nil || r != nil {
			t.Errorf("Route(%v, %v): %v", h[0], h[1], err)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("MustRoute did not panic")
		}
	}()
	MustRoute(nil, nil)
}

func TestARouteIsAConformingHandler(t *testing.T) {
	var alerts, all bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		alerts.Reset()
		all.Reset()
		return MustRoute(slog.NewJSONHandler(&alerts, nil), slog.NewJSONHandler(&all, nil))
	}, func(t *testing.T) map[string]any {
		var m map[string]any
		if err := json.Unmarshal(all.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		return m
	})
	slog.New(MustRoute(slog.NewJSONHandler(&alerts, nil), slog.NewJSONHandler(&all, nil))).Warn("x")
	if !strings.Contains(alerts.String(), `"msg":"x"`) {
		t.Errorf("alerts got %q", alerts.String())
	}
}

func TestAHandlerThatEndsTheGoroutineStopsNoLaterRecord(t *testing.T) {
	bus, all := events.NewBus(), &recorder{min: slog.LevelWarn}
	n := 0
	MustAttach(bus, Config{Handler: MustRoute(failing{handle: func() error {
		if n++; n == 1 {
			runtime.Goexit()
		}
		return nil
	}}, all)})
	p := newPipeline(bus)
	var call sync.WaitGroup
	call.Go(func() { p.failed(context.Background()) })
	call.Wait()
	p.failed(context.Background())
	if got := all.messages(); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}
