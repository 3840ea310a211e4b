package console

import (
	"math"
	"time"

	"github.com/telltale-go/telltale/events"
)

// state reads everything that lives on the bus.
func (c *Console) state(w *watch) *state {
	now := time.Now()
	c.mu.Lock()
	viewers := len(c.viewers)
	c.mu.Unlock()
	s := &state{
		Now: now, History: c.cfg.History.Seconds(), Viewers: viewers, MaxViewers: c.cfg.MaxViewers, LeftOut: w.missing(),
		Pipelines: []pipeline{}, Breakers: []shared{}, Limits: []shared{},
	}
	sources := c.bus.Sources()
	w.mu.Lock()
	defer w.mu.Unlock()
	measured := w.measured()
	s.Measured = measured.Seconds()
	perSecond := func(s *events.Source) float64 {
		if t := w.table.Get(s); t != nil && measured > 0 {
			return t.perSecond(measured)
		}
		return 0
	}
	var states []*shared
	byID := map[uint64]*shared{}
	for _, source := range sources {
		if source.Type() == events.TypePipeline {
			continue
		}
		one := c.shared(source, now)
		one.Rejected = perSecond(source)
		states = append(states, one)
		byID[source.ID()] = one
	}
	for _, source := range sources {
		if source.Type() == events.TypePipeline {
			p := pipelineOf(source, byID, perSecond)
			if t := w.table.Get(source); t != nil && t.calls != nil && measured > 0 {
				r := t.calls.rates(measured)
				p.Traffic = &r
			}
			s.Pipelines = append(s.Pipelines, p)
		}
	}
	for _, one := range states {
		if one.Breaker != nil {
			s.Breakers = append(s.Breakers, *one)
		} else {
			s.Limits = append(s.Limits, *one)
		}
	}
	return s
}

// pipelineOf describes a pipeline, and adds to the states that its layers share what the layers did.
func pipelineOf(s *events.Source, states map[uint64]*shared, perSecond func(*events.Source) float64) pipeline {
	p := pipeline{ID: s.ID(), Name: s.Pipeline(), Layers: []layer{}}
	for _, l := range s.Layers() {
		one := layer{Name: l.Layer(), Type: l.Type(), Settings: l.Settings(), Did: doing(l.Type()), Rate: perSecond(l)}
		state := l.Shared()
		if state == nil {
			state = l
		} else if shared := states[state.ID()]; shared != nil {
			one.Shared = shared.ID
			if n := len(shared.UsedBy); n == 0 || shared.UsedBy[n-1].ID != p.ID {
				shared.UsedBy = append(shared.UsedBy, user{p.ID, p.Name})
			}
			if one.Did == rejected {
				shared.Rejected += one.Rate
			}
		}
		if r, ok := readBreaker(state); ok {
			one.State = r.State.String()
		}
		p.Layers = append(p.Layers, one)
	}
	for _, w := range s.Warnings() {
		p.Warnings = append(p.Warnings, warning{w.Code, w.Message})
	}
	return p
}

// shared describes what has a state of its own.
func (c *Console) shared(s *events.Source, now time.Time) *shared {
	one := &shared{ID: s.ID(), Name: s.Layer(), Type: s.Type(), Settings: s.Settings(), UsedBy: []user{}, Length: c.cfg.History.Seconds()}
	if r, ok := readBreaker(s); ok {
		one.Breaker = &breaker{State: r.State, Since: r.Since, Calls: r.Calls, Failures: r.Failures,
			FailureRatio: finite(r.FailureRatio), Limit: finite(r.Limit)}
		if !r.NextProbe.IsZero() {
			in := max(r.NextProbe.Sub(now).Seconds(), 0)
			one.Breaker.NextProbe = &in
		}
		c.past(one, s, r, now)
	}
	if r, ok := read(s.Limiter); ok {
		one.Limiter = &limiter{r.Limit, r.Usage, r.Queued}
	}
	if r, ok := read(s.Budget); ok {
		one.Budget = &budget{r.Available, r.Limit}
	}
	return one
}

// past adds a breaker's timeline and last transitions.
func (c *Console) past(one *shared, s *events.Source, r events.BreakerReading, now time.Time) {
	h := c.histories.Get(s)
	if h == nil {
		return
	}
	spans, transitions := h.read(r, r.Since.Sub(c.began), now.Sub(c.began))
	ago := func(column int) float64 { return float64(columns-column) * h.width.Seconds() }
	for _, s := range spans {
		one.Timeline = append(one.Timeline, timelineSpan{ago(s.From), ago(s.To), s.State})
	}
	for _, t := range transitions {
		one.Transitions = append(one.Transitions, toldTransition{t.at, t.from, t.to, t.reason})
	}
}

func readBreaker(s *events.Source) (events.BreakerReading, bool) { return read(s.Breaker) }

// read asks a source for its state. A layer of the user's that panics has none: that is no reason to end the process.
func read[R any](ask func() (R, bool)) (r R, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return ask()
}

// finite replaces what JSON has not.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}
