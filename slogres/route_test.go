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
	slog.Handler
	enabled, handle func() error
}

func (f failing) Enabled(context.Context, slog.Level) bool {
	if f.enabled != nil {
		_ = f.enabled()
	}
	return true
}
func (f failing) Handle(context.Context, slog.Record) error { return f.handle() }

// SLOG-01
func TestAFailingOrPanickingHandlerAffectsNeitherTheOtherNorTheCall(t *testing.T) {
	fail := func() error { return errors.New("disk full") }
	crash := func() error { panic("disk gone") }
	crashWithNil := func() error { var h slog.Handler; h.Enabled(nil, 0); return nil }
	for name, c := range map[string]struct {
		bad      failing
		failures uint64
	}{
		"error":            {failing{handle: fail}, 4},
		"panic":            {failing{handle: crash}, 4},
		"panic with error": {failing{handle: crashWithNil}, 4},
		"panic in Enabled": {failing{enabled: crash, handle: fail}, 0},
	} {
		for _, first := range []bool{true, false} {
			bus, good := events.NewBus(), &recorder{min: slog.LevelInfo}
			r := MustRoute(c.bad, good)
			if !first {
				r = MustRoute(good, c.bad)
			}
			p := newPipeline(bus)
			MustAttach(bus, Config{Handler: r})
			before := bus.HandlerPanics()
			incident(p)
			if got := good.messages(); !slices.Equal(got, alertsOfIncident) {
				t.Errorf("%s, first %v: the other got %q", name, first, got)
			}
			if bus.HandlerPanics() != before {
				t.Errorf("%s, first %v: the panic reached the bus", name, first)
			}
			if r.Errors() < 4 || first && c.failures != 0 && r.Errors() != c.failures {
				t.Errorf("%s, first %v: %d errors counted", name, first, r.Errors())
			}
		}
	}
}

func TestDerivedHandlersOfARouteCountTogether(t *testing.T) {
	r := MustRoute(failing{Handler: slog.DiscardHandler, handle: func() error { panic("disk") }}, debugRecorder())
	derived := r.WithGroup("g").WithAttrs([]slog.Attr{slog.Int("n", 1)}).(*Router)
	// DiscardHandler's own WithGroup leaves the failing part behind, so ask both.
	slog.New(r).Warn("one")
	if r.Errors() != 1 || derived.Errors() != 1 {
		t.Errorf("counted %d and %d", r.Errors(), derived.Errors())
	}
	if r.WithGroup("") == nil || r.WithAttrs(nil) == nil {
		t.Error("nothing derived")
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
