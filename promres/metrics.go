package promres

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/internal/names"
)

// metrics are the metrics of one Attach.
type metrics struct {
	executions, executionWaitTime, attempts, attemptFailures *vec[prometheus.Counter]
	retryStops, rejections, timeouts, breakerTransitions     *vec[prometheus.Counter]
	fallbacks, hedgeWins, hedgeDenials, singleflightCalls    *vec[prometheus.Counter]
	executionActive, layerInfo, buildInfo                    *vec[prometheus.Gauge]
	executionDuration, executionAttempts, attemptDuration    *vec[prometheus.Observer]

	// vecs are those above; descs are of those that are read at the scrape, by id, nil for the others.
	vecs  []prometheus.Collector
	descs [names.Count]*prometheus.Desc
}

func newMetrics(constant prometheus.Labels, keys bool) *metrics {
	m := new(metrics)
	counters := func(i names.ID) *vec[prometheus.Counter] { return add(m, newCounters(i.Of(), constant)) }
	gauges := func(i names.ID) *vec[prometheus.Gauge] { return add(m, newGauges(i.Of(), constant)) }
	histograms := func(i names.ID) *vec[prometheus.Observer] { return add(m, newHistograms(i.Of(), constant)) }

	m.executions, m.executionWaitTime = counters(names.Executions), counters(names.ExecutionWait)
	m.attempts, m.attemptFailures = counters(names.Attempts), counters(names.AttemptFailures)
	m.retryStops, m.rejections, m.timeouts = counters(names.RetryStops), counters(names.Rejections), counters(names.Timeouts)
	m.breakerTransitions = counters(names.BreakerTransitions)
	m.fallbacks, m.singleflightCalls = counters(names.Fallbacks), counters(names.FlightCalls)
	m.hedgeWins, m.hedgeDenials = counters(names.HedgeWins), counters(names.HedgeDenials)
	m.executionActive, m.layerInfo, m.buildInfo = gauges(names.ExecutionActive), gauges(names.LayerInfo), gauges(names.BuildInfo)
	m.executionDuration, m.executionAttempts = histograms(names.ExecutionDuration), histograms(names.ExecutionAttempts)
	m.attemptDuration = histograms(names.AttemptDuration)

	for _, i := range []names.ID{names.BreakerState, names.BreakerStateTime, names.BreakerStateChangeTime,
		names.BreakerNextProbeTime, names.BreakerFailureRatio, names.BreakerFailureRatioLimit, names.BreakerWindowCalls,
		names.BreakerCooldown, names.LimiterLimit, names.LimiterUsage, names.LimiterQueued, names.BudgetAvailable,
		names.BudgetLimit, names.DroppedEvents, names.HandlerPanics} {
		m.reads(i, constant)
	}
	if keys {
		for _, i := range []names.ID{names.KeyedRejections, names.KeyedBreakerState, names.KeyedLimiterLimit,
			names.KeyedLimiterUsage, names.KeyedLimiterQueued} {
			m.reads(i, constant)
		}
	}
	return m
}

func add[M any](m *metrics, v *vec[M]) *vec[M] {
	m.vecs = append(m.vecs, v)
	return v
}

// reads makes the descriptor of a metric that is read at the scrape.
func (m *metrics) reads(i names.ID, constant prometheus.Labels) {
	m.descs[i] = prometheus.NewDesc(nameOf(i.Of()), i.Of().Doc, labelsOf(i.Of()), constant)
}

// describe sends the descriptors of all.
func (m *metrics) describe(to chan<- *prometheus.Desc) {
	for _, v := range m.vecs {
		v.Describe(to)
	}
	for _, d := range m.descs {
		if d != nil {
			to <- d
		}
	}
}

// read is one value of a metric that is read at the scrape. The label values must be valid UTF-8.
func (m *metrics) read(i names.ID, value float64, labels ...string) prometheus.Metric {
	as := prometheus.GaugeValue
	if i.Of().Kind == names.Counter {
		as = prometheus.CounterValue
	}
	return prometheus.MustNewConstMetric(m.descs[i], as, value, labels...)
}
