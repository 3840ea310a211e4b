package main

import (
	"context"
	"database/sql"
	"strconv"
	"time"
)

// schema has the outbox beside the orders: what is in one transaction with an order is sent if, and only if, the order
// is there.
const schema = `
	CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL);
	CREATE TABLE IF NOT EXISTS outbox (
		id       INTEGER PRIMARY KEY AUTOINCREMENT,
		subject  TEXT    NOT NULL,
		payload  BLOB    NOT NULL,
		attempts INTEGER NOT NULL DEFAULT 0, -- leases so far, and so which lease is the present one
		due      INTEGER NOT NULL DEFAULT 0, -- in Unix milliseconds: when it may be leased (again)
		dead     INTEGER NOT NULL DEFAULT 0, -- 1: a dead letter, for people to look at
		reason   TEXT    NOT NULL DEFAULT '' -- of the last failure
	);
	CREATE INDEX IF NOT EXISTS outbox_due ON outbox (due) WHERE dead = 0;`

type message struct {
	id       int64
	subject  string
	payload  []byte
	attempts int
}

// number is what the receiver knows the message by, however often it is sent.
func (m message) number() string { return "outbox-" + strconv.FormatInt(m.id, 10) }

// outbox is a table of messages that must be sent.
type outbox struct {
	db          *sql.DB
	lease       time.Duration // as long as nobody else sends a message; longer than a batch takes
	maxAttempts int           // then a message is a dead letter
}

// put adds a message to a transaction.
func put(ctx context.Context, tx *sql.Tx, subject string, payload []byte) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO outbox (subject, payload) VALUES (?, ?)`, subject, payload)
	return err
}

// take leases up to n messages that are due. The attempt counts from here on, so that a message that kills the process
// is not tried for ever, either.
func (o *outbox) take(ctx context.Context, n int) (batch []message, err error) {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	now := time.Now()
	if _, err := tx.ExecContext(ctx, `UPDATE outbox SET dead = 1 WHERE dead = 0 AND due <= ? AND attempts >= ?`, now.UnixMilli(), o.maxAttempts); err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, `
		UPDATE outbox SET attempts = attempts + 1, due = ?
		WHERE id IN (SELECT id FROM outbox WHERE dead = 0 AND due <= ? ORDER BY id LIMIT ?)
		RETURNING id, subject, payload, attempts`, now.Add(o.lease).UnixMilli(), now.UnixMilli(), n)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var m message
		if err := rows.Scan(&m.id, &m.subject, &m.payload, &m.attempts); err != nil {
			return nil, err
		}
		batch = append(batch, m)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return batch, tx.Commit()
}

// settle ends the leases of a batch: what was sent leaves the table, and what failed is due again, each after its delay. Of a
// message that somebody else has leased in the meantime, only its being sent counts.
func (o *outbox) settle(ctx context.Context, sent []message, failed []failure) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, m := range sent {
		if _, err := tx.ExecContext(ctx, `DELETE FROM outbox WHERE id = ?`, m.id); err != nil {
			return err
		}
	}
	for _, f := range failed {
		if _, err := tx.ExecContext(ctx, `UPDATE outbox SET due = ?, dead = attempts >= ?, reason = ? WHERE id = ? AND attempts = ?`,
			time.Now().Add(f.delay).UnixMilli(), o.maxAttempts, f.err.Error(), f.id, f.attempts); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// failure is a message that could not be sent, and when it is due again.
type failure struct {
	message
	err   error
	delay time.Duration
}
