package main

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// cooldown is how long the breaker leaves the broker alone.
const cooldown = 15 * time.Second

// publisher publishes to JetStream, once: what fails stays in the outbox, which is the retry.
type publisher struct {
	stream jetstream.JetStream
	calls  *resilience.Pipeline[struct{}]
}

func newPublisher(conn *nats.Conn, cooldown time.Duration, bus *events.Bus) (*publisher, error) {
	stream, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	breaker, err := resilience.NewBreaker(resilience.BreakerConfig{
		Name: "broker", FailureRatio: 0.5, MinCalls: 10, Window: 30 * time.Second, Cooldown: cooldown, Bus: bus,
	})
	if err != nil {
		return nil, err
	}
	calls, err := resilience.NewPipeline(resilience.PipelineConfig[struct{}]{
		Name: "broker.publish", Bus: bus,
		Layers: []resilience.Layer{
			breaker,
			resilience.Timeout{After: 2 * time.Second}, // for the broker's acknowledgement
		},
	})
	return &publisher{stream: stream, calls: calls}, err
}

// publish returns when the broker has stored the message.
func (p *publisher) publish(ctx context.Context, m message) error {
	return p.calls.Run(ctx, func(ctx context.Context) error {
		_, err := p.stream.Publish(ctx, m.subject, m.payload,
			jetstream.WithMsgID(m.number()), // the stream drops what it has had already
			jetstream.WithRetryAttempts(0))  // the client would ask twice more
		return err
	})
}

// connect returns a connection that comes back by itself, however long the broker is away. In the meantime it refuses to
// publish ("outbound buffer limit exceeded"): what the client would keep and send later, the outbox keeps better.
func connect(url string) (*nats.Conn, error) {
	return nats.Connect(url,
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(250*time.Millisecond),
		nats.ReconnectBufSize(-1))
}
