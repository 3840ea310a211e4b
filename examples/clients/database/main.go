// Command database asks a database through database/sql: a timeout and a bulkhead around each call, the pool's own retry
// as the only one, and no breaker.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/examples/clients/internal/show"
	"github.com/telltale-go/telltale/resilience"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "database:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server, db, err := open(ctx, dir)
	if err != nil {
		return err
	}
	defer db.Close()
	bus := events.NewBus() // in a service events.Default()
	defer show.Events(bus, out)()
	s, err := newStore(db, bus)
	if err != nil {
		return err
	}

	fmt.Fprintln(out, "# an order is placed and found")
	if err := s.place(ctx, order{ID: 1, Item: "chair", Count: 2}); err != nil {
		return err
	}
	found, err := s.find(ctx, 1)
	fmt.Fprintln(out, "->", found, err)

	fmt.Fprintln(out, "\n# there is none of that number: an answer, no failure")
	_, err = s.find(ctx, 2)
	fmt.Fprintln(out, "->", err)

	fmt.Fprintln(out, "\n# a connection breaks: database/sql takes another, and the call is one attempt")
	before := server.arrived.Load()
	server.breaks.Store(1)
	_, err = s.find(ctx, 1)
	fmt.Fprintf(out, "-> %v, the driver was asked %d times\n", err, server.arrived.Load()-before)

	fmt.Fprintln(out, "\n# a statement without end: the timeout has the driver interrupt it")
	_, err = s.audit(ctx)
	fmt.Fprintln(out, "->", err)

	fmt.Fprintln(out, "\n# all connections are in use for too long: the next call is refused (the four that succeed are those that had them)")
	err = s.whileBusy(ctx, func() error {
		_, err := s.find(ctx, 1)
		return err
	})
	fmt.Fprintf(out, "-> %v: answer with %d\n", err, resilience.KindOf(err).HTTPStatus())

	fmt.Fprintln(out, "\nconnections in use at the end:", db.Stats().InUse)
	return nil
}

// whileBusy calls do while other calls have all the connections.
func (s *store) whileBusy(ctx context.Context, do func() error) error {
	holding, release, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	for range connections {
		go func() {
			ended <- s.calls.Run(ctx, func(ctx context.Context) error {
				conn, err := s.db.Conn(ctx)
				if err != nil {
					return err
				}
				defer conn.Close()
				holding <- struct{}{}
				<-release
				return nil
			})
		}()
	}
	for range connections {
		<-holding
	}
	err := do()
	close(release)
	for range connections {
		err = errors.Join(err, <-ended)
	}
	return err
}

// open opens a new database in a folder.
func open(ctx context.Context, dir string) (*breakable, *sql.DB, error) {
	server := &breakable{dsn: "file:" + filepath.Join(dir, "orders.db") + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"}
	db := sql.OpenDB(server)
	_, err := db.ExecContext(ctx, `
		CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL, count INTEGER NOT NULL);
		CREATE TABLE stock (item TEXT PRIMARY KEY, count INTEGER NOT NULL CHECK (count >= 0));
		INSERT INTO stock VALUES ('chair', 10);`)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return server, db, nil
}
