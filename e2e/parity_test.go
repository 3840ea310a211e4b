package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/promres"
	"github.com/telltale-go/telltale/resilience"
)

// PROM-04: for random runs, otelres through OpenTelemetry's Prometheus exporter shows the names, types, labels and values of
// promres, so that one set of dashboards serves both.
func TestBothAdaptersShowTheSameMetrics(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			viaOTel, direct := prometheus.NewRegistry(), prometheus.NewRegistry()
			exporter, err := otelprom.New(otelprom.WithRegisterer(viaOTel))
			if err != nil {
				t.Fatal(err)
			}
			provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
			defer otelres.MustAttach(bus, otelres.Config{MeterProvider: provider, Keys: 3})()
			defer promres.MustAttach(bus, promres.Config{Registerer: direct, Keys: 3})()
			pipelines := pipelines(bus)
			run(rand.New(rand.NewPCG(seed, 1)), pipelines)
			shown := exposition(t, direct)
			if _, keyed := shown["# TYPE resilience_keyed_rejections_total"]; !keyed {
				t.Error("no key has a series: the test proves too little")
			}
			compare(t, seed, exposition(t, viaOTel), shown)
			time.Sleep(time.Minute) // whoever waits for a limit leaves the bubble
			runtime.KeepAlive(pipelines)
		})
	}
}

// pipelines share a bulkhead, a budget, and a breaker for each of more keys than are told apart; two breakers have one name.
func pipelines(bus *events.Bus) []*resilience.Pipeline[int] {
	pool := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 2, Bus: bus})
	extra := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "extra", Allowance: 4, Window: time.Second, Bus: bus})
	hosts := resilience.MustKeyed(resilience.KeyedConfig{Name: "hosts", MaxKeys: 5, Bus: bus, New: func(string) (resilience.Gate, error) {
		return resilience.NewBreaker(resilience.BreakerConfig{Name: "host", ConsecutiveFailures: 2, Cooldown: time.Second, Bus: events.Off()})
	}})
	all := []*resilience.Pipeline[int]{resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "bare", Bus: bus})}
	for i, cfg := range []resilience.BreakerConfig{
		{Name: "db", Bus: bus, FailureRatio: 0.5, MinCalls: 5, Cooldown: time.Second},
		{Name: "db", Bus: bus, ConsecutiveFailures: 3, Cooldown: 3 * time.Second},
	} {
		all = append(all, resilience.MustPipeline(resilience.PipelineConfig[int]{Name: fmt.Sprint("p", i), Bus: bus, Layers: []resilience.Layer{
			resilience.Timeout{Name: "total", After: time.Second},
			pool,
			hosts,
			resilience.Retry{Backoff: resilience.Exponential{Base: 20 * time.Millisecond}, Budget: extra},
			resilience.MustBreaker(cfg),
			resilience.Hedge{Delay: 30 * time.Millisecond, Budget: extra},
			resilience.Timeout{After: 100 * time.Millisecond},
		}}))
	}
	return all
}

// run makes a hundred calls that end in every way there is.
func run(rnd *rand.Rand, pipelines []*resilience.Pipeline[int]) {
	for i := range 100 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		p, kind := pipelines[rnd.IntN(len(pipelines))], rnd.IntN(6)
		key := []string{"", "a", "b", "c", "d", "e", "f"}[rnd.IntN(7)]
		go func() {
			defer cancel()
			_, _ = p.DoKey(ctx, key, func(ctx context.Context) (int, error) {
				time.Sleep(time.Duration(i%7) * time.Millisecond)
				switch kind {
				case 0:
					return 0, errors.New("failed")
				case 1:
					<-ctx.Done()
					return 0, ctx.Err()
				case 2:
					cancel()
					return 0, ctx.Err()
				case 3:
					return 0, fmt.Errorf("of the dependency's: %w", context.DeadlineExceeded)
				case 4:
					return 0, resilience.Permanent(errors.New("for good"))
				}
				return 1, nil
			})
		}()
		time.Sleep(time.Duration(rnd.IntN(200)) * time.Millisecond)
	}
	synctest.Wait()
}

// exposition returns what a registry shows: a line each metric and each series. A label without a value is none, and what
// OpenTelemetry adds about itself does not count.
func exposition(t *testing.T, registry *prometheus.Registry) map[string]string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for _, f := range families {
		if f.GetName() == "target_info" || f.GetName() == "otel_scope_info" {
			continue
		}
		lines["# TYPE "+f.GetName()] = f.GetType().String()
		lines["# HELP "+f.GetName()] = f.GetHelp()
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				if !strings.HasPrefix(l.GetName(), "otel_scope_") && l.GetValue() != "" {
					labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
				}
			}
			slices.Sort(labels)
			series := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			if _, twice := lines[series]; twice {
				t.Errorf("%s stands twice", series)
			}
			lines[series] = valueOf(f.GetType(), m)
		}
	}
	return lines
}

func valueOf(kind dto.MetricType, m *dto.Metric) string {
	switch kind {
	case dto.MetricType_COUNTER:
		return fmt.Sprintf("%.9g", m.GetCounter().GetValue())
	case dto.MetricType_GAUGE:
		return fmt.Sprintf("%.9g", m.GetGauge().GetValue())
	}
	h := m.GetHistogram()
	v := fmt.Sprintf("%d calls, %.9g in all", h.GetSampleCount(), h.GetSampleSum())
	for _, b := range h.GetBucket() {
		v += fmt.Sprintf(", %d up to %v", b.GetCumulativeCount(), b.GetUpperBound())
	}
	return v
}

func compare(t *testing.T, seed uint64, viaOTel, direct map[string]string) {
	t.Helper()
	if len(direct) < 150 {
		t.Errorf("seed %d: only %d lines to compare", seed, len(direct))
	}
	for line, v := range viaOTel {
		if direct[line] != v {
			t.Errorf("seed %d: %s is %q by way of OpenTelemetry, %q directly", seed, line, v, direct[line])
		}
		delete(direct, line)
	}
	for line, v := range direct {
		t.Errorf("seed %d: %s, %q, is shown directly alone", seed, line, v)
	}
}
