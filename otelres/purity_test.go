package otelres_test

import (
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"go.opentelemetry.io/otel"
)

// OTEL-05: API packages only; the SDK in tests alone.
func TestOnlyTheAPIIsImported(t *testing.T) {
	api := map[string]bool{
		"github.com/telltale-go/telltale/events":            true,
		"github.com/telltale-go/telltale/internal/names":    true,
		"github.com/telltale-go/telltale/internal/readings": true,
		"github.com/telltale-go/telltale/internal/version":  true,
		"go.opentelemetry.io/otel":                          true,
		"go.opentelemetry.io/otel/attribute":                true,
		"go.opentelemetry.io/otel/codes":                    true,
		"go.opentelemetry.io/otel/metric":                   true,
		"go.opentelemetry.io/otel/metric/noop":              true,
		"go.opentelemetry.io/otel/trace":                    true,
		"go.opentelemetry.io/otel/trace/noop":               true,
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			seen++
			if strings.Contains(path, ".") && !api[path] {
				t.Errorf("%s imports %s", f.Name(), path)
			}
		}
	}
	if seen == 0 {
		t.Error("no import was seen")
	}
}

// OTEL-05: no global is set.
func TestAttachSetsNoGlobal(t *testing.T) {
	tracers, meters, propagator := otel.GetTracerProvider(), otel.GetMeterProvider(), otel.GetTextMapPropagator()
	r := newRig(t)
	observedCall(r.bus, r.pipeline("users.get"))
	otelres.MustAttach(events.NewBus(), otelres.Config{})()
	if otel.GetTracerProvider() != tracers || otel.GetMeterProvider() != meters || otel.GetTextMapPropagator() != propagator {
		t.Error("a global was set")
	}
}
