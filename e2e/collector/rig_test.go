package collector

import (
	"context"
	"fmt"
	"net"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// running is a Collector that keeps what it receives over OTLP.
type running struct {
	grpc, http string // where it listens
	traces     consumertest.TracesSink
	metrics    consumertest.MetricsSink
	done       chan error
	collector  *otelcol.Collector
}

type sink struct{}

func (sink) Start(context.Context, component.Host) error { return nil }
func (sink) Shutdown(context.Context) error              { return nil }

type tracesSink struct {
	sink
	*consumertest.TracesSink
}

type metricsSink struct {
	sink
	*consumertest.MetricsSink
}

const config = `
receivers:
  otlp:
    protocols:
      grpc: {endpoint: %q}
      http: {endpoint: %q}
exporters:
  sink: {}
service:
  telemetry: {metrics: {level: none}, logs: {level: error}}
  pipelines:
    traces: {receivers: [otlp], exporters: [sink]}
    metrics: {receivers: [otlp], exporters: [sink]}
`

// start runs a Collector until stop.
func start(t *testing.T) *running {
	t.Helper()
	r := &running{grpc: freeAddress(t), http: freeAddress(t), done: make(chan error, 1)}
	var err error
	r.collector, err = otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.NewDefaultBuildInfo(), Factories: r.factories, DisableGracefulShutdown: true,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{"yaml:" + fmt.Sprintf(config, r.grpc, r.http)},
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() { r.done <- r.collector.Run(context.Background()) }()
	for r.collector.GetState() != otelcol.StateRunning {
		select {
		case err := <-r.done:
			t.Fatalf("the collector ended before it ran: %v", err)
		default:
		}
	}
	return r
}

// stop ends the Collector; what was sent before has been delivered.
func (r *running) stop(t *testing.T) {
	t.Helper()
	r.collector.Shutdown()
	if err := <-r.done; err != nil {
		t.Fatal(err)
	}
}

func (r *running) factories() (f otelcol.Factories, err error) {
	f.Telemetry = otelconftelemetry.NewFactory()
	if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
		return f, err
	}
	f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](exporter.NewFactory(component.MustNewType("sink"),
		func() component.Config { return &struct{}{} },
		exporter.WithTraces(func(context.Context, exporter.Settings, component.Config) (exporter.Traces, error) {
			return tracesSink{TracesSink: &r.traces}, nil
		}, component.StabilityLevelStable),
		exporter.WithMetrics(func(context.Context, exporter.Settings, component.Config) (exporter.Metrics, error) {
			return metricsSink{MetricsSink: &r.metrics}, nil
		}, component.StabilityLevelStable)))
	return f, err
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// spans lists what arrived.
func (r *running) spans() (all []ptrace.Span) {
	for _, td := range r.traces.AllTraces() {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					all = append(all, span)
				}
			}
		}
	}
	return all
}

// metric returns the last state of a metric that arrived.
func (r *running) metric(t *testing.T, name string) (found pmetric.Metric) {
	t.Helper()
	ok := false
	for _, md := range r.metrics.AllMetrics() {
		for _, rm := range md.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					if m.Name() == name {
						found, ok = m, true
					}
				}
			}
		}
	}
	if !ok {
		t.Fatalf("no metric %s arrived", name)
	}
	return found
}

// sums adds up a counter's points by the value of an attribute; those that are 0 are left out.
func sums(m pmetric.Metric, by string) map[string]float64 {
	all := map[string]float64{}
	for _, p := range m.Sum().DataPoints().All() {
		value, _ := p.Attributes().Get(by)
		if v := float64(p.IntValue()) + p.DoubleValue(); v != 0 { // one of them is not used, and 0
			all[value.AsString()] += v
		}
	}
	return all
}
