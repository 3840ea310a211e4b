package promres

import (
	"github.com/prometheus/client_golang/prometheus"
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
	descs [len(table)]*prometheus.Desc
}

func newMetrics(constant prometheus.Labels) *metrics {
	m := new(metrics)
	counters := func(i id) *vec[prometheus.Counter] { return add(m, newCounters(table[i], constant)) }
	gauges := func(i id) *vec[prometheus.Gauge] { return add(m, newGauges(table[i], constant)) }
	histograms := func(i id) *vec[prometheus.Observer] { return add(m, newHistograms(table[i], constant)) }

	m.executions, m.executionWaitTime = counters(executions), counters(executionWaitTime)
	m.attempts, m.attemptFailures = counters(attempts), counters(attemptFailures)
	m.retryStops, m.rejections, m.timeouts = counters(retryStops), counters(rejections), counters(timeouts)
	m.breakerTransitions = counters(breakerTransitions)
	m.fallbacks, m.singleflightCalls = counters(fallbacks), counters(singleflightCalls)
	m.hedgeWins, m.hedgeDenials = counters(hedgeWins), counters(hedgeDenials)
	m.executionActive, m.layerInfo, m.buildInfo = gauges(executionActive), gauges(layerInfo), gauges(buildInfo)
	m.executionDuration, m.executionAttempts = histograms(executionDuration), histograms(executionAttempts)
	m.attemptDuration = histograms(attemptDuration)

	for _, i := range []id{breakerState, breakerStateTime, breakerStateChangeTime, breakerNextProbeTime, breakerFailureRatio,
		breakerFailureRatioLimit, breakerWindowCalls, breakerCooldown, limiterLimit, limiterUsage, limiterQueued,
		retryBudgetAvailable, retryBudgetLimit, busDroppedEvents, busHandlerPanics} {
		m.descs[i] = prometheus.NewDesc(table[i].name, table[i].help, table[i].labels(), constant)
	}
	return m
}

func add[M any](m *metrics, v *vec[M]) *vec[M] {
	m.vecs = append(m.vecs, v)
	return v
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
func (m *metrics) read(i id, value float64, labels ...string) prometheus.Metric {
	as := prometheus.GaugeValue
	if table[i].kind == counter {
		as = prometheus.CounterValue
	}
	return prometheus.MustNewConstMetric(m.descs[i], as, value, labels...)
}
