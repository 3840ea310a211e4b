// Package otelres turns the events of Telltale into OpenTelemetry spans and metrics.
//
// One line in main opts in, after the OpenTelemetry SDK is set up:
//
//	detach := otelres.MustAttach(events.Default(), otelres.Config{})
//	defer detach()
//
// Each call of a pipeline becomes a span, each attempt a child of it, and whatever the operation starts (an HTTP
// client's span, a query's) a child of its attempt. Metrics count calls, attempts, failures by type, stopped retries,
// rejections and timeouts; the states of breakers and limiters are read when the SDK collects. [Metrics] lists them.
//
// Counting is an atomic addition: the SDK reads the counters, too, when it collects. Durations are recorded as calls end and
// carry exemplars of sampled traces; counters carry none, and with delta temporality one that did not move is told as 0.
//
// A sampler sees the pipeline of an execution's span, and the kind of an attempt's, unless it is the initial one: that gets
// all its attributes at its end.
//
// The package imports OpenTelemetry's API only: it sets no global and installs no exporter. With providers that do nothing
// it does nothing. Its own failures go to otel.Handle.
package otelres
