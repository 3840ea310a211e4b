package promql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/timestamp"
	engine "github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
)

// Firing is an alert at the moment from which on it fired.
type Firing struct {
	Name                string
	At                  time.Time
	Labels, Annotations map[string]string
}

// Evaluate evaluates rule files at every interval from start to end, with Prometheus's own rules: what is recorded is
// added to the store. It returns the alerts that fired, in the order in which they began to.
func (s *Store) Evaluate(start, end time.Time, every time.Duration, files ...[]byte) ([]Firing, error) {
	var all []rules.Rule
	for _, file := range files {
		loaded, err := load(file)
		if err != nil {
			return nil, err
		}
		all = append(all, loaded...)
	}
	var fired []Firing
	seen := map[string]bool{}
	for at := start; !at.After(end); at = at.Add(every) {
		for _, r := range all {
			v, err := r.Eval(context.Background(), 0, at, rules.EngineQueryFunc(s.eng, s.db), new(url.URL), 0)
			if err != nil {
				return nil, fmt.Errorf("promql: rule %s at %v: %w", r.Name(), at, err)
			}
			if err := s.record(v); err != nil {
				return nil, fmt.Errorf("promql: rule %s at %v: %w", r.Name(), at, err)
			}
			if alerting, ok := r.(*rules.AlertingRule); ok {
				fired = append(fired, began(alerting, at, seen)...)
			}
		}
	}
	return fired, nil
}

// began lists the alerts of a rule that fire since this evaluation.
func began(r *rules.AlertingRule, at time.Time, seen map[string]bool) (fired []Firing) {
	r.ForEachActiveAlert(func(a *rules.Alert) {
		key := fmt.Sprint(r.Name(), a.Labels, a.FiredAt)
		if a.State != rules.StateFiring || !a.ResolvedAt.IsZero() || seen[key] {
			return
		}
		seen[key] = true
		fired = append(fired, Firing{r.Name(), at, labelsOf(a.Labels), labelsOf(a.Annotations)})
	})
	return fired
}

func (s *Store) record(v engine.Vector) error {
	app := s.db.Appender(context.Background())
	for _, sample := range v {
		if _, err := app.Append(0, sample.Metric, sample.T, sample.F); err != nil {
			return errors.Join(err, app.Rollback())
		}
	}
	return app.Commit()
}

func load(file []byte) (all []rules.Rule, err error) {
	p, quiet := parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler)
	groups, errs := rulefmt.Parse(file, false, model.UTF8Validation, p, quiet)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			expr, err := p.ParseExpr(r.Expr)
			if err != nil {
				return nil, fmt.Errorf("promql: rule %s%s: %w", r.Record, r.Alert, err)
			}
			if r.Alert != "" {
				all = append(all, rules.NewAlertingRule(r.Alert, expr, time.Duration(r.For), time.Duration(r.KeepFiringFor), labels.FromMap(r.Labels),
					labels.FromMap(r.Annotations), labels.EmptyLabels(), "", true, quiet))
			} else {
				all = append(all, rules.NewRecordingRule(r.Record, expr, labels.FromMap(r.Labels)))
			}
		}
	}
	return all, nil
}

// Add appends one value of a series, for scenarios that nobody plays.
func (s *Store) Add(series map[string]string, at time.Time, value float64) error {
	app := s.db.Appender(context.Background())
	if _, err := app.Append(0, labels.FromMap(series), timestamp.FromTime(at), value); err != nil {
		return errors.Join(err, app.Rollback())
	}
	return app.Commit()
}
