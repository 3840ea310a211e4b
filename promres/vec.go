package promres

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/internal/names"
)

// vec is one metric and its series. A series lives while somebody holds it, so that sources with equal names share
// theirs, and the last one takes it along.
type vec[M any] struct {
	*prometheus.MetricVec
	series func(labels ...string) M
	mu     sync.Mutex
	held   map[string]int // holders by joined label values
	// nowhere takes what a source has to tell after its end.
	nowhere M
}

func newCounters(m names.Metric, constant prometheus.Labels) *vec[prometheus.Counter] {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: nameOf(m), Help: m.Doc, ConstLabels: constant}, labelsOf(m))
	return &vec[prometheus.Counter]{
		MetricVec: v.MetricVec,
		series:    v.WithLabelValues,
		held:      map[string]int{},
		nowhere:   prometheus.NewCounter(prometheus.CounterOpts{Name: nameOf(m)}),
	}
}

func newGauges(m names.Metric, constant prometheus.Labels) *vec[prometheus.Gauge] {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: nameOf(m), Help: m.Doc, ConstLabels: constant}, labelsOf(m))
	return &vec[prometheus.Gauge]{
		MetricVec: v.MetricVec,
		series:    v.WithLabelValues,
		held:      map[string]int{},
		nowhere:   prometheus.NewGauge(prometheus.GaugeOpts{Name: nameOf(m)}),
	}
}

func newHistograms(m names.Metric, constant prometheus.Labels) *vec[prometheus.Observer] {
	opts := prometheus.HistogramOpts{Name: nameOf(m), Help: m.Doc, ConstLabels: constant, Buckets: m.Bounds}
	if m.Unit == "s" {
		// The native buckets are 10 % wide; a series keeps at most 160 of them and starts anew rather than become
		// coarse, at most once an hour.
		opts.NativeHistogramBucketFactor = 1.1
		opts.NativeHistogramMaxBucketNumber = 160
		opts.NativeHistogramMinResetDuration = time.Hour
	}
	v := prometheus.NewHistogramVec(opts, labelsOf(m))
	return &vec[prometheus.Observer]{
		MetricVec: v.MetricVec,
		series:    v.WithLabelValues,
		held:      map[string]int{},
		nowhere:   prometheus.ObserverFunc(func(float64) {}),
	}
}

// hold returns the series with these label values, which must be valid UTF-8, and keeps it until letGo.
func (v *vec[M]) hold(labels []string) M {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held[seriesKey(labels)]++
	return v.series(labels...)
}

// letGo gives back what hold returned.
func (v *vec[M]) letGo(labels []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := seriesKey(labels)
	if v.held[key]--; v.held[key] > 0 {
		return
	}
	delete(v.held, key)
	v.DeleteLabelValues(labels...)
}

// seriesKey joins label values with a byte that valid UTF-8 does not contain.
func seriesKey(labels []string) string { return strings.Join(labels, "\xff") }
