package main

import (
	"context"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// mailer sends mails to one server.
type mailer struct {
	address string
	calls   *resilience.Pipeline[struct{}]
}

func newMailer(address string, s settings, bus *events.Bus) (*mailer, error) {
	breaker, err := resilience.NewBreaker(resilience.BreakerConfig{Name: "mail-server", Bus: bus})
	if err != nil {
		return nil, err
	}
	calls, err := resilience.NewPipeline(resilience.PipelineConfig[struct{}]{
		Name: "mail.send", Bus: bus,
		RetryIf:   resilience.IsNotProcessed, // a mail that may have been accepted is not sent again
		FailureIf: resilience.IsTransient,    // a mail that is refused for good is not the server's failure
		Layers: []resilience.Layer{
			resilience.Timeout{After: s.Timeout},
			resilience.Retry{MaxAttempts: 3, Backoff: resilience.Exponential{Base: 200 * time.Millisecond}},
			breaker,
		},
	})
	return &mailer{address: address, calls: calls}, err
}

func (m *mailer) send(ctx context.Context, mail mail) error {
	return m.calls.Run(ctx, func(ctx context.Context) error { return send(ctx, m.address, mail) })
}
