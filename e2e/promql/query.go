package promql

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	engine "github.com/prometheus/prometheus/promql"
)

// Sample is one series of an answer, at one moment. Labels is as Prometheus writes them, without the target's.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Instant answers a query at one moment. A number is a sample without labels.
func (s *Store) Instant(query string, at time.Time) ([]Sample, error) {
	q, err := s.eng.NewInstantQuery(context.Background(), s.db, engine.NewPrometheusQueryOpts(false, 0, nil), query, at)
	if err != nil {
		return nil, fmt.Errorf("promql: %s: %w", query, err)
	}
	defer q.Close()
	res := q.Exec(context.Background())
	if res.Err != nil {
		return nil, fmt.Errorf("promql: %s: %w", query, res.Err)
	}
	switch v := res.Value.(type) {
	case engine.Scalar:
		return []Sample{{Value: v.V}}, nil
	case engine.Vector:
		all := make([]Sample, len(v))
		for i, s := range v {
			if s.H != nil {
				return nil, fmt.Errorf("promql: %s: the answer is a histogram: ask for a quantile, a count or a sum", query)
			}
			all[i] = Sample{Labels: labelsOf(s.Metric), Value: s.F}
		}
		return all, nil
	}
	return nil, fmt.Errorf("promql: %s: the answer is a %s", query, res.Value.Type())
}

// Range answers a query at every step from start to end: the values of each series by its labels as text, NaN excepted.
func (s *Store) Range(query string, start, end time.Time, step time.Duration) (map[string][]float64, error) {
	q, err := s.eng.NewRangeQuery(context.Background(), s.db, engine.NewPrometheusQueryOpts(false, 0, nil), query, start, end, step)
	if err != nil {
		return nil, fmt.Errorf("promql: %s: %w", query, err)
	}
	defer q.Close()
	res := q.Exec(context.Background())
	m, err := res.Matrix()
	if err != nil {
		return nil, fmt.Errorf("promql: %s: %w", query, err)
	}
	all := map[string][]float64{}
	for _, series := range m {
		key := series.Metric.String()
		for _, p := range series.Floats {
			if p.F == p.F {
				all[key] = append(all[key], p.F)
			}
		}
	}
	return all, nil
}

func labelsOf(l labels.Labels) map[string]string {
	all := map[string]string{}
	l.Range(func(l labels.Label) { all[l.Name] = l.Value })
	return all
}

// String writes the sample in one line, its labels sorted.
func (s Sample) String() string {
	parts := make([]string, 0, len(s.Labels))
	for name, value := range s.Labels {
		parts = append(parts, fmt.Sprintf("%s=%q", name, value))
	}
	sort.Strings(parts)
	return fmt.Sprintf("{%s} %g", strings.Join(parts, ","), s.Value)
}
