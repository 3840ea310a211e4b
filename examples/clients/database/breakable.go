package main

import (
	"context"
	"database/sql/driver"
	"sync/atomic"

	"modernc.org/sqlite"
)

// breakable is SQLite with connections that break when they are told to, as those to a database server do.
type breakable struct {
	dsn     string
	breaks  atomic.Int32 // so many of the next statements find that their connection is broken
	arrived atomic.Int32 // statements that the driver got
}

func (b *breakable) Driver() driver.Driver { return &sqlite.Driver{} }

func (b *breakable) Connect(context.Context) (driver.Conn, error) {
	conn, err := b.Driver().Open(b.dsn)
	if err != nil {
		return nil, err
	}
	return connection{conn, b}, nil
}

// broken is asked before each statement.
func (b *breakable) broken() bool {
	b.arrived.Add(1)
	return b.breaks.Add(-1) >= 0
}

type connection struct {
	driver.Conn
	to *breakable
}

func (c connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.to.broken() {
		return nil, driver.ErrBadConn
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.to.broken() {
		return nil, driver.ErrBadConn
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c connection) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}
