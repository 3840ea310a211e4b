// Command broker sends messages through an outbox: a table that is written together with the orders and emptied by a
// relay. A breaker stands around the publish alone.
//
// Without flags it plays an outage of a broker in its own process. With -nats it is the relay of a service.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/slogres"
)

func main() {
	var s settings
	url := flag.String("nats", "", "the broker's URL; empty plays an outage")
	file := flag.String("db", "orders.db", "the database")
	orders := flag.Int("orders", 0, "places so many orders meanwhile")
	flag.DurationVar(&s.lease, "lease", time.Minute, "for how long nobody else sends a message")
	flag.DurationVar(&s.every, "every", time.Second, "how often to look for messages")
	flag.DurationVar(&s.cooldown, "cooldown", cooldown, "for how long an open breaker leaves the broker alone")
	flag.IntVar(&s.batch, "batch", 100, "messages a batch")
	flag.Parse()
	s.maxAttempts, s.backoff, s.maxWait = 20, resilience.Exponential{Base: time.Second}, 5*time.Minute

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := func() error {
		if *url == "" {
			return play(ctx, os.Stdout)
		}
		return serve(ctx, s, *url, *file, *orders, os.Stdout)
	}(); err != nil {
		fmt.Fprintln(os.Stderr, "broker:", err)
		os.Exit(1)
	}
}

// settings are a relay's.
type settings struct {
	batch        int
	every, lease time.Duration
	maxAttempts  int
	backoff      resilience.Backoff
	maxWait      time.Duration
	cooldown     time.Duration
}

// newRelay makes the relay of a database and a broker. Its log goes to out, until stop is called.
func newRelay(db *sql.DB, conn *nats.Conn, s settings, bus *events.Bus, out io.Writer) (r *relay, stop func(), err error) {
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: few}))
	// The relay tells of its messages in one line a batch; of what the pipeline tells, the breaker's changes are written.
	stop, err = slogres.Attach(bus, slogres.Config{Handler: log.Handler(), Skip: func(e events.Event) bool {
		_, ok := e.(events.BreakerStateChanged)
		return !ok
	}})
	if err != nil {
		return nil, nil, err
	}
	p, err := newPublisher(conn, s.cooldown, bus)
	if err != nil {
		stop()
		return nil, nil, err
	}
	return &relay{
		outbox:  &outbox{db: db, lease: s.lease, maxAttempts: s.maxAttempts},
		local:   map[string]func(context.Context, message) error{stockTaken: func(context.Context, message) error { return nil }},
		publish: p.publish,
		backoff: s.backoff, maxWait: s.maxWait,
		log: log,
	}, stop, nil
}

// serve is the relay of a service. With orders it places some, too.
func serve(ctx context.Context, s settings, url, file string, orders int, out io.Writer) error {
	db, err := openDB(ctx, file)
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := connect(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	r, stop, err := newRelay(db, conn, s, events.Default(), os.Stderr)
	if err != nil {
		return err
	}
	defer stop()

	ended := make(chan error, 1)
	go func() { ended <- r.run(ctx, s.batch, s.every) }()
	for range orders {
		id, err := place(ctx, db, "chair")
		if err != nil {
			return errors.Join(err, <-ended)
		}
		fmt.Fprintln(out, "placed", id)
	}
	return <-ended
}

// few leaves out of a line what differs from run to run, and shortens it.
func few(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case slog.LevelKey, slog.MessageKey, "leased", "sent", "again", "dead", "last_error", "error", events.KeyLayerName, events.KeyReason, events.KeyCalls, events.KeyFailures:
		return a
	}
	return slog.Attr{}
}
