package main

import (
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// site is a database, a broker, and the relay between them.
type site struct {
	broker *server.Server
	conn   *nats.Conn
	stream jetstream.Stream
	file   string
	db     *sql.DB
	relay  *relay
	told   *resiliencetest.Recorder
	log    *strings.Builder
}

func newSite(t *testing.T, s settings) *site {
	t.Helper()
	dir := t.TempDir()
	broker, err := startServer(dir, -1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.WaitForShutdown)
	t.Cleanup(broker.Shutdown)
	conn, err := connect(broker.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	stream, err := createStream(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "orders.db")
	db, err := openDB(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	bus, log := events.NewBus(), &strings.Builder{}
	told := resiliencetest.Record(bus)
	r, stop, err := newRelay(db, conn, s, bus, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return &site{broker, conn, stream, file, db, r, told, log}
}

// production are the settings of a service, but for the delays between a message's attempts.
func production(maxAttempts int) settings {
	return settings{lease: time.Minute, maxAttempts: maxAttempts, backoff: resilience.NoDelay, cooldown: cooldown}
}

func (s *site) place(t *testing.T, n int) {
	t.Helper()
	if err := placeAll(t.Context(), s.db, n); err != nil {
		t.Fatal(err)
	}
}

func (s *site) batch(t *testing.T) int {
	t.Helper()
	n, err := s.relay.batch(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// count returns how many messages of the outbox a condition holds for.
func (s *site) count(t *testing.T, where string) (n int) {
	t.Helper()
	if err := s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM outbox WHERE `+where).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (s *site) stored(t *testing.T) uint64 {
	t.Helper()
	info, err := s.stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return info.State.Msgs
}

func (s *site) lines() int { return strings.Count(s.log.String(), "outbox batch") }

// lockedBuilder may be written to by several goroutines.
type lockedBuilder struct {
	mu sync.Mutex
	strings.Builder
}

func (b *lockedBuilder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Builder.Write(p)
}
