package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// connections is how many the pool has, and so how many calls run at once: an operation here uses one connection at a
// time. One that asks again while it still reads rows would need two, and some calls could wait for each other for ever.
const connections = 4

type order struct {
	ID    int64
	Item  string
	Count int
}

// store keeps orders in a database. Each of its operations passes the pipeline as a whole: a transaction is one call.
type store struct {
	db    *sql.DB
	calls *resilience.Pipeline[struct{}]
}

// newStore tells on bus; nil means events.Default().
func newStore(db *sql.DB, bus *events.Bus) (*store, error) {
	db.SetMaxOpenConns(connections)
	bulkhead, err := resilience.NewBulkhead(resilience.BulkheadConfig{
		// The pool's own queue has no end: in an outage all requests would wait in it, as long as their contexts let them.
		Name: "orders-db", MaxConcurrent: connections, MaxQueue: 2 * connections, MaxWait: 100 * time.Millisecond, Bus: bus,
	})
	if err != nil {
		return nil, err
	}
	calls, err := resilience.NewPipeline(resilience.PipelineConfig[struct{}]{
		Name: "orders-db.call", Bus: bus,
		Classify: noRowsIsAnAnswer,
		Layers: []resilience.Layer{
			bulkhead,
			resilience.Timeout{After: time.Second},
			// No Retry: database/sql repeats on another connection what the driver says was not executed (driver.ErrBadConn),
			// up to three times in all. A second owner would repeat what it must not, and multiply the rest.
			// No Breaker: see docs/clients.md.
		},
	})
	return &store{db: db, calls: calls}, err
}

// noRowsIsAnAnswer keeps a question without an answer from being told as a failed call. The caller still gets the error.
func noRowsIsAnAnswer(_ struct{}, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return resilience.NoFailure
	}
	return nil
}

// find returns an order, or sql.ErrNoRows.
func (s *store) find(ctx context.Context, id int64) (o order, err error) {
	err = s.calls.Run(ctx, func(ctx context.Context) error {
		// Rows are read in here: when the operation returns, its context ends, and with it what is still open.
		return s.db.QueryRowContext(ctx, `SELECT id, item, count FROM orders WHERE id = ?`, id).Scan(&o.ID, &o.Item, &o.Count)
	})
	return o, err
}

// place writes an order and takes it from the stock, both or neither.
func (s *store) place(ctx context.Context, o order) error {
	return s.calls.Run(ctx, func(ctx context.Context) error {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // gives the connection back at once, however this ends; after a Commit it does nothing
		if _, err := tx.ExecContext(ctx, `INSERT INTO orders (id, item, count) VALUES (?, ?, ?)`, o.ID, o.Item, o.Count); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE stock SET count = count - ? WHERE item = ?`, o.Count, o.Item); err != nil {
			return err
		}
		return tx.Commit()
	})
}

// audit is a statement that would run for ever.
func (s *store) audit(ctx context.Context) (n int, err error) {
	const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`
	err = s.calls.Run(ctx, func(ctx context.Context) error {
		return s.db.QueryRowContext(ctx, endless).Scan(&n)
	})
	return n, err
}
