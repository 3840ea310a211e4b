package promres

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/names"
)

// calls is what a pipeline's calls and their attempts count into.
type calls struct {
	active            prometheus.Gauge
	executions        *family[prometheus.Counter]  // by outcome
	executionDuration *family[prometheus.Observer] // by outcome; nil if switched off
	executionAttempts *family[prometheus.Observer] // by outcome
	backoff, queue    prometheus.Counter
	attempts          []*family[prometheus.Counter] // by kind, then outcome
	attemptDuration   *family[prometheus.Observer]  // by outcome; nil if switched off or with one attempt at most
	failures          *failures

	// The ends of intervals, bound once: binding them in each call would allocate.
	executionEnd func(events.ExecutionFinished)
	attemptEnd   func(events.AttemptFinished)
}

// openCalls makes what a pipeline's calls count into.
func (a *adapter) openCalls(r *row, s *events.Source) *calls {
	m, pipeline := a.metrics, label(s.Pipeline())
	outcomes := events.Outcomes()
	byOutcome := func(outcome int) []string { return []string{pipeline, enumLabel[events.Outcome](outcome)} }
	c := &calls{
		active:            series(r, m.executionActive, pipeline),
		executions:        newFamily(r, m.executions, len(outcomes)+1, byOutcome),
		executionAttempts: newFamily(r, m.executionAttempts, len(outcomes)+1, byOutcome),
		backoff:           series(r, m.executionWaitTime, pipeline, names.WaitBackoff),
		queue:             series(r, m.executionWaitTime, pipeline, names.WaitQueue),
		failures:          newFailures(r, m.attemptFailures, pipeline, a.errorTypes),
	}
	for kind := range len(events.AttemptKinds()) + 1 {
		c.attempts = append(c.attempts, newFamily(r, m.attempts, len(outcomes)+1, func(outcome int) []string {
			return []string{pipeline, enumLabel[events.AttemptKind](kind), enumLabel[events.Outcome](outcome)}
		}))
	}
	if a.durations != DurationsNone {
		c.executionDuration = newFamily(r, m.executionDuration, len(outcomes)+1, byOutcome)
	}
	if a.durations == DurationsAll && repeats(s) {
		c.attemptDuration = newFamily(r, m.attemptDuration, len(outcomes)+1, byOutcome)
	}
	for _, o := range events.OutcomesOf(s) {
		c.executions.at(int(o))
	}
	for _, o := range events.AttemptOutcomes() {
		for _, k := range events.AttemptKindsOf(s) {
			c.attempts[k].at(int(o))
		}
	}
	c.executionEnd = func(e events.ExecutionFinished) { c.endExecution(&e, nil) }
	c.attemptEnd = func(e events.AttemptFinished) { c.endAttempt(&e, nil) }
	return c
}

// repeats tells whether a call of the pipeline may run its operation a second time.
func repeats(pipeline *events.Source) bool { return len(events.AttemptKindsOf(pipeline)) > 1 }

func (a *adapter) executionStarted(e *events.ExecutionStarted) (end func(events.ExecutionFinished)) {
	r := a.row(&e.Meta)
	if r == nil || r.calls == nil {
		return nil
	}
	r.calls.active.Inc()
	return r.calls.executionEnd
}

// endExecution ends what executionStarted began, also when the pipeline is gone meanwhile: another of the same name may
// still show how many calls are active. Here pointers are taken, and method values avoided, which copy: an event is 200
// bytes.
func (c *calls) endExecution(e *events.ExecutionFinished, exemplar prometheus.Labels) {
	outcome := int(e.Outcome)
	c.active.Dec()
	c.executions.at(outcome).Inc()
	c.executionAttempts.at(outcome).Observe(float64(e.Attempts))
	if c.executionDuration != nil {
		observe(c.executionDuration.at(outcome), e.Duration.Seconds(), exemplar)
	}
	addTime(c.backoff, e.Backoff)
	addTime(c.queue, e.Queued)
}

func (a *adapter) attemptStarted(e *events.AttemptStarted) (end func(events.AttemptFinished)) {
	r := a.row(&e.Meta)
	if r == nil || r.calls == nil {
		return nil
	}
	return r.calls.attemptEnd
}

func (c *calls) endAttempt(e *events.AttemptFinished, exemplar prometheus.Labels) {
	kind, outcome := int(e.Kind), int(e.Outcome)
	if kind >= len(c.attempts) {
		kind = 0
	}
	c.attempts[kind].at(outcome).Inc()
	if c.attemptDuration != nil {
		observe(c.attemptDuration.at(outcome), e.Duration.Seconds(), exemplar)
	}
	switch e.Outcome {
	case events.OutcomeFailure, events.OutcomeTimeout, events.OutcomeRejected:
		c.failures.of(e.Err).Inc()
	}
}

// addTime adds seconds to a counter, which must never fall.
func addTime(c prometheus.Counter, d time.Duration) {
	if d > 0 {
		c.Add(d.Seconds())
	}
}
