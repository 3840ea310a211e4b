// Package resend tells an HTTP client's own spans how often their request has been sent before.
//
// It is offered apart from package otelres because it needs OpenTelemetry's SDK, which otelres does not: where spans are
// set up, in main,
//
//	sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(resend.Processor()), ...)
package resend

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/telltale-go/telltale/resilience"
)

const (
	keyResendCount = attribute.Key("http.request.resend_count")
	keyMethod      = attribute.Key("http.request.method")
	// otelhttp is the scope of OpenTelemetry's own instrumentation, which sets a span's attributes after its start.
	otelhttp = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
)

// Processor returns a span processor that sets http.request.resend_count, as OpenTelemetry's conventions for HTTP define
// it, on the client spans of HTTP requests that a retry or a hedge of a pipeline sends: 1 on the second attempt's. A first
// attempt's span has none. The number is that of the innermost pipeline's call; redirects that the HTTP client follows
// within one attempt do not add to it. The pipeline needs no adapter for it, and spans of the program's own may stand
// between.
func Processor() sdktrace.SpanProcessor { return processor{} }

type processor struct{}

// OnStart implements [sdktrace.SpanProcessor].
func (processor) OnStart(parent context.Context, s sdktrace.ReadWriteSpan) {
	if s.SpanKind() != trace.SpanKindClient {
		return
	}
	n := resilience.AttemptNumber(parent)
	if n > 1 && isHTTP(s) {
		s.SetAttributes(keyResendCount.Int(n - 1))
	}
}

// isHTTP tells whether a client span is an HTTP request's: it is otelhttp's, or has a method from its start on.
func isHTTP(s sdktrace.ReadOnlySpan) bool {
	if s.InstrumentationScope().Name == otelhttp {
		return true
	}
	for _, a := range s.Attributes() {
		if a.Key == keyMethod {
			return true
		}
	}
	return false
}

// OnEnd implements [sdktrace.SpanProcessor].
func (processor) OnEnd(sdktrace.ReadOnlySpan) {}

// Shutdown implements [sdktrace.SpanProcessor].
func (processor) Shutdown(context.Context) error { return nil }

// ForceFlush implements [sdktrace.SpanProcessor].
func (processor) ForceFlush(context.Context) error { return nil }
