package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// play shows an outage of the broker. What takes a quarter of a minute in a service takes a second here.
func play(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "broker")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	broker, err := startServer(dir, -1)
	if err != nil {
		return err
	}
	defer func() { broker.Shutdown() }()
	conn, err := connect(broker.ClientURL())
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := createStream(ctx, conn)
	if err != nil {
		return err
	}
	db, err := openDB(ctx, filepath.Join(dir, "orders.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	r, stop, err := newRelay(db, conn, settings{
		lease: 10 * time.Second, maxAttempts: 20, backoff: resilience.Exponential{Base: 100 * time.Millisecond}, maxWait: time.Second,
		cooldown: time.Second,
	}, events.NewBus(), out)
	if err != nil {
		return err
	}
	defer stop()

	fmt.Fprintln(out, "# three orders, each with a message for the broker and one for this process")
	err = errors.Join(placeAll(ctx, db, 3), r.empty(ctx))

	fmt.Fprintln(out, "\n# the broker is down, and twelve more are placed: the messages for this process arrive all the same")
	port := broker.Addr().(*net.TCPAddr).Port
	broker.Shutdown()
	broker.WaitForShutdown()
	err = errors.Join(err, placeAll(ctx, db, 12))
	for range 3 {
		_, failed := r.batch(ctx, 100)
		err = errors.Join(err, failed)
		time.Sleep(150 * time.Millisecond)
	}

	fmt.Fprintln(out, "\n# the broker is back; the breaker finds out after its cooldown")
	again, failed := startServer(dir, port)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	broker = again
	if err := r.empty(ctx); err != nil {
		return err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n15 orders were placed, %d are in the stream\n", info.State.Msgs)
	return nil
}

func placeAll(ctx context.Context, db *sql.DB, n int) error {
	for range n {
		if _, err := place(ctx, db, "chair"); err != nil {
			return err
		}
	}
	return nil
}

// empty sends batches until nothing is left to be sent.
func (r *relay) empty(ctx context.Context) error {
	for {
		if _, err := r.batch(ctx, 100); err != nil {
			return err
		}
		var left int
		if err := r.outbox.db.QueryRowContext(ctx, `SELECT count(*) FROM outbox WHERE dead = 0`).Scan(&left); err != nil || left == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
