package grpcres_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// bad is a wrong value of a field, and a part of what is allowed. nil: any value is fine.
type bad[C any] struct {
	with    C
	allowed string
}

// refuses checks that build refuses each bad value by a *ConfigError, and that every field of C has a row.
func refuses[C any](t *testing.T, build func(C) error, rows map[string][]bad[C]) {
	t.Helper()
	typ := reflect.TypeFor[C]()
	for i := range typ.NumField() {
		field := typ.Field(i).Name
		all, ok := rows[field]
		if !ok {
			t.Errorf("%s.%s has no row: which values are refused?", typ.Name(), field)
		}
		for _, b := range all {
			var wrong *resilience.ConfigError
			if err := build(b.with); !errors.As(err, &wrong) {
				t.Errorf("%s.%s: %+v gives %v, want a *ConfigError", typ.Name(), field, b.with, err)
			} else if wrong.Type != "grpcres."+typ.Name() || wrong.Field != field || !strings.Contains(wrong.Allowed, b.allowed) {
				t.Errorf("%s.%s: got %v", typ.Name(), field, wrong)
			}
		}
	}
}

func TestBadClientsAreRefused(t *testing.T) {
	type row = bad[grpcres.Config]
	with := func(l resilience.Layer) row {
		return row{grpcres.Config{Name: "x", Layers: []resilience.Layer{l}}, "StreamLayers of their own"}
	}
	streams := func(l resilience.Layer) row {
		return row{grpcres.Config{Name: "x", StreamLayers: []resilience.Layer{l}}, "one attempt of a stream after another"}
	}
	flight := resilience.MustSingleflight(resilience.SingleflightConfig{})
	refuses(t, func(cfg grpcres.Config) error {
		cfg.Bus = events.NewBus()
		_, err := grpcres.NewClient(cfg)
		return err
	}, map[string][]row{
		"Name":   {{grpcres.Config{}, "set"}},
		"Layers": {with(resilience.Hedge{}), with(&resilience.Hedge{}), with(flight), with(resilience.Timeout{Abandon: true}), with(&resilience.Timeout{Abandon: true})},
		"StreamLayers": {streams(resilience.Hedge{}), streams(&resilience.Hedge{}), streams(flight), streams(resilience.Timeout{Abandon: true}),
			streams(&resilience.Timeout{Abandon: true})},
		"RetryIf": nil, "FailureIf": nil, "Idempotent": nil, "MaxReplay": nil, "JudgeAtFirstMessage": nil, "Bus": nil,
	})
}

func TestBadServersAreRefused(t *testing.T) {
	type row = bad[grpcres.ServerConfig]
	with := func(l resilience.Layer, allowed string) row {
		return row{grpcres.ServerConfig{Name: "x", Layers: []resilience.Layer{l}}, allowed}
	}
	flight := resilience.MustSingleflight(resilience.SingleflightConfig{})
	refuses(t, func(cfg grpcres.ServerConfig) error {
		cfg.Bus = events.NewBus()
		_, err := grpcres.NewServer(cfg)
		return err
	}, map[string][]row{
		"Name": {{grpcres.ServerConfig{}, "set"}},
		"Layers": {with(resilience.Retry{}, "once"), with(&resilience.Retry{}, "once"), with(resilience.Hedge{}, "once"), with(&resilience.Hedge{}, "once"),
			with(flight, "once"), with(resilience.Timeout{Abandon: true}, "wait"), with(&resilience.Timeout{Abandon: true}, "wait")},
		"FailureIf": nil, "Priority": nil, "RetryAfter": nil, "Bus": nil,
	})
}

// What the pipeline refuses is refused here, too, and leaves nothing on the bus; nil layers are no panic.
func TestBadLayersAreRefused(t *testing.T) {
	bus := events.NewBus()
	for _, l := range []resilience.Layer{nil, (*resilience.Retry)(nil), (*resilience.Hedge)(nil), (*resilience.Timeout)(nil), resilience.Retry{MaxAttempts: -7}} {
		for _, cfg := range []grpcres.Config{
			{Name: "x", Layers: []resilience.Layer{l}, StreamLayers: []resilience.Layer{}, Bus: bus},
			{Name: "x", StreamLayers: []resilience.Layer{l}, Bus: bus},
		} {
			if _, err := grpcres.NewClient(cfg); err == nil {
				t.Errorf("a client with %v is made", l)
			}
		}
		if _, err := grpcres.NewServer(grpcres.ServerConfig{Name: "x", Layers: []resilience.Layer{l}, Bus: bus}); err == nil {
			t.Errorf("a server with %v is made", l)
		}
	}
	if left := bus.Sources(); len(left) != 0 {
		t.Errorf("on the bus are %v", left)
	}
}

func TestConfigMayBeChangedAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{unary: failing(2, errDown)})
		cfg := grpcres.Config{Layers: []resilience.Layer{thrice}, StreamLayers: []resilience.Layer{thrice}, Idempotent: idempotent}
		c, _ := client(t, cfg)
		cfg.Layers[0], cfg.StreamLayers[0] = nil, nil
		if _, err := call(t.Context(), connect(t, s, c.DialOptions()...), "x"); err != nil {
			t.Error(err)
		}
		defer func() {
			if recover() == nil {
				t.Error("MustClient does not panic")
			}
		}()
		grpcres.MustClient(grpcres.Config{})
	})
}

// GRPC-01: what the user's own Retry asks is still asked.
func TestOwnOnRetryIsStillAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{unary: failing(2, errDown)})
		own, asked := thrice, 0
		own.OnRetry = func(context.Context, resilience.FailedAttempt) bool { asked++; return false }
		for _, l := range []resilience.Layer{own, &own} {
			c, heard := client(t, grpcres.Config{Layers: []resilience.Layer{l}, Idempotent: idempotent})
			call(t.Context(), connect(t, s, c.DialOptions()...), "x")
			resiliencetest.Want(t, heard, events.RetryStopped{Reason: events.ReasonStopped})
		}
		if asked != 2 {
			t.Errorf("it was asked %d times", asked)
		}
	})
}
