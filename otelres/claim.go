package otelres

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/telltale-go/telltale/events"
	"go.opentelemetry.io/otel"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// ErrAttached: a provider is attached to the bus already, and would get everything twice.
var ErrAttached = errors.New("already attached to this bus")

// claims are the providers that are attached, by bus.
var claims struct {
	mu   sync.Mutex
	held map[claim]struct{}
}

type claim struct {
	bus    *events.Bus
	signal string // Config's field
	// provider is nil for the global one, which is claimed under that name as well: what it was before an SDK was set
	// passes everything on to that SDK, but is not equal to it.
	provider any
}

// take claims the providers of cfg for a bus; release gives them back.
func take(bus *events.Bus, cfg Config) (release func(), err error) {
	wanted := append(
		claimsOf(bus, "TracerProvider", cfg.TracerProvider, otel.GetTracerProvider()),
		claimsOf(bus, "MeterProvider", cfg.MeterProvider, otel.GetMeterProvider())...)
	claims.mu.Lock()
	defer claims.mu.Unlock()
	for _, c := range wanted {
		if _, taken := claims.held[c]; taken {
			return nil, fmt.Errorf("otelres: Config.%s is %w: detach first, or give another", c.signal, ErrAttached)
		}
	}
	if claims.held == nil {
		claims.held = map[claim]struct{}{}
	}
	for _, c := range wanted {
		claims.held[c] = struct{}{}
	}
	return func() {
		claims.mu.Lock()
		defer claims.mu.Unlock()
		for _, c := range wanted {
			delete(claims.held, c)
		}
	}, nil
}

// claimsOf returns what a provider is claimed as. Those that do nothing, or that Go cannot compare, are not claimed.
func claimsOf(bus *events.Bus, signal string, provider, global any) []claim {
	if provider == nil {
		provider = global
	}
	switch provider.(type) {
	case tracenoop.TracerProvider, metricnoop.MeterProvider:
		return nil
	}
	if !reflect.ValueOf(provider).Comparable() {
		return nil
	}
	own := claim{bus, signal, provider}
	if provider == global {
		return []claim{own, {bus, signal, nil}}
	}
	return []claim{own}
}
