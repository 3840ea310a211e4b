package main

import (
	"context"
	"database/sql"
	"fmt"

	_ "modernc.org/sqlite" // the driver
)

// The subjects of the messages. The first goes to the broker, the second to a handler in this process.
const (
	orderPlaced = "orders.placed"
	stockTaken  = "stock.taken"
)

func openDB(ctx context.Context, file string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, schema)
	return db, err
}

// place writes an order together with the messages about it.
func place(ctx context.Context, db *sql.DB, item string) (id int64, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	if err := tx.QueryRowContext(ctx, `INSERT INTO orders (item) VALUES (?) RETURNING id`, item).Scan(&id); err != nil {
		return 0, err
	}
	payload := fmt.Appendf(nil, `{"order":%d,"item":%q}`, id, item)
	for _, subject := range []string{orderPlaced, stockTaken} {
		if err := put(ctx, tx, subject, payload); err != nil {
			return 0, err
		}
	}
	return id, tx.Commit()
}
