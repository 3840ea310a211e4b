package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// relay sends what is in the outbox: to handlers in this process, and to the broker.
type relay struct {
	outbox  *outbox
	local   map[string]func(context.Context, message) error // by subject
	publish func(context.Context, message) error
	backoff resilience.Backoff
	maxWait time.Duration
	log     *slog.Logger
}

// run sends batches until ctx ends, and looks for new messages every so often.
func (r *relay) run(ctx context.Context, size int, every time.Duration) error {
	for ctx.Err() == nil {
		n, err := r.batch(ctx, size)
		if err != nil && ctx.Err() == nil {
			r.log.Error("outbox", "error", err) // its database: the next round tries again
		}
		if err != nil || n < size {
			select {
			case <-ctx.Done():
			case <-time.After(every):
			}
		}
	}
	return nil
}

// batch sends up to size messages and tells of all of them in one line.
func (r *relay) batch(ctx context.Context, size int) (n int, err error) {
	batch, err := r.outbox.take(ctx, size)
	if err != nil || len(batch) == 0 {
		return 0, err
	}
	var sent []message
	var failed []failure
	dead := 0
	for _, m := range batch {
		err := r.send(ctx, m)
		if err == nil {
			sent = append(sent, m)
			continue
		}
		if ctx.Err() != nil {
			break // the process is asked to end: the leases of the others end by themselves
		}
		// An open breaker is a failure like any other: the message is leased again later, and in the end a dead letter.
		failed = append(failed, failure{m, err, r.delay(m.attempts)})
		if m.attempts >= r.outbox.maxAttempts {
			dead++
		}
	}
	// What the broker has is taken out of the table also if the process is asked to end just now.
	err = r.outbox.settle(context.WithoutCancel(ctx), sent, failed)
	r.tell(len(batch), sent, failed, dead)
	return len(batch), err
}

// send hands a message to its handler in this process, or to the broker. The broker's breaker has no say in the
// handlers' messages, and learns nothing of them.
func (r *relay) send(ctx context.Context, m message) error {
	if handle, ok := r.local[m.subject]; ok {
		return handle(ctx, m)
	}
	return r.publish(ctx, m)
}

// delay is how long a message waits after its n-th attempt.
func (r *relay) delay(n int) time.Duration {
	return min(r.backoff.Delay(n, 0), r.maxWait)
}

func (r *relay) tell(leased int, sent []message, failed []failure, dead int) {
	line := r.log.With("leased", leased, "sent", len(sent))
	if len(failed) == 0 {
		line.Info("outbox batch")
		return
	}
	level := slog.LevelWarn
	if dead > 0 {
		level = slog.LevelError
	}
	line.Log(context.Background(), level, "outbox batch", "again", len(failed)-dead, "dead", dead, "last_error", failed[len(failed)-1].err)
}
