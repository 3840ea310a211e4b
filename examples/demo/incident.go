package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// phase is one act of the incident.
type phase struct {
	name     string
	lasts    time.Duration
	behavior behavior
	down     bool // the process is killed
}

// behavior is how the service answers in a phase.
type behavior struct {
	Latency    time.Duration `json:"latency"`     // of every answer
	Spread     time.Duration `json:"spread"`      // up to this much is added, at random
	Failing    float64       `json:"failing"`     // share of the answers that are 503
	RetryAfter int           `json:"retry_after"` // seconds, on a 503
}

var incident = []phase{
	{name: "healthy", lasts: 4 * time.Second, behavior: behavior{Latency: 15 * time.Millisecond, Spread: 20 * time.Millisecond}},
	{name: "brownout", lasts: 8 * time.Second, behavior: behavior{Latency: 60 * time.Millisecond, Spread: 240 * time.Millisecond,
		Failing: 1.0 / 3, RetryAfter: 1}},
	{name: "outage", lasts: 10 * time.Second, down: true},
	{name: "recovery", lasts: 6 * time.Second, behavior: behavior{Latency: 15 * time.Millisecond, Spread: 20 * time.Millisecond}},
}

// playIncident drives the service through its phases while the clients send their load. It returns when every call has
// ended.
func playIncident(ctx context.Context, o options, out io.Writer, began time.Time, service *pricing, clients []*client) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	loads := startLoads(ctx, o.rate, clients)
	defer loads.wait() // also when a phase fails: no call outlives the incident
	for _, p := range incident {
		fmt.Fprintf(out, "%s  %-9s %s\n", sinceText(began), p.name, p.text())
		for _, c := range clients {
			c.tally.enter(p.name)
		}
		if err := playPhase(ctx, o, p, service, clients); err != nil {
			stop(err)
			return err
		}
	}
	loads.finish()
	fmt.Fprintf(out, "%s  the load ends\n", sinceText(began))
	return nil
}

func playPhase(ctx context.Context, o options, p phase, service *pricing, clients []*client) error {
	if p.down {
		service.kill()
	} else {
		if !service.running() {
			if err := service.start(ctx); err != nil {
				return err
			}
		}
		if err := service.enter(ctx, p); err != nil {
			return err
		}
	}
	select {
	case <-time.After(time.Duration(float64(p.lasts) / o.speed)):
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-service.died:
		return err
	}
	if p.down {
		for _, c := range clients {
			c.tally.reached(0)
		}
		return nil
	}
	reached, err := service.counts(ctx)
	if err != nil {
		return err
	}
	for _, c := range clients {
		c.tally.reached(reached[c.name])
	}
	return nil
}

func (p phase) text() string {
	switch {
	case p.down:
		return "the process is killed: connections are refused"
	case p.behavior.Failing > 0:
		return fmt.Sprintf("answers take %v to %v, a third of them is 503 with Retry-After: %d", p.behavior.Latency,
			p.behavior.Latency+p.behavior.Spread, p.behavior.RetryAfter)
	}
	return fmt.Sprintf("answers take %v to %v", p.behavior.Latency, p.behavior.Latency+p.behavior.Spread)
}

// sinceText is the time since the demo began, for the left margin.
func sinceText(began time.Time) string { return fmt.Sprintf("%6.2fs", time.Since(began).Seconds()) }
