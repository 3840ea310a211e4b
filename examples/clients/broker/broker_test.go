package main

import (
	"context"
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

func TestAnOpenBreakerLeasesAgainAndInTheEndDeadLettersLikeAnyFailure(t *testing.T) {
	s := newSite(t, production(4))
	s.broker.Shutdown()
	s.broker.WaitForShutdown()
	s.place(t, 12)
	local := 0
	s.relay.local[stockTaken] = func(context.Context, message) error { local++; return nil }

	for round, want := range []struct{ leased, again, dead int }{
		{leased: 24, again: 12}, {leased: 12, again: 12}, {leased: 12, again: 12}, {leased: 12, dead: 12}, {leased: 0, dead: 12},
	} {
		if n := s.batch(t); n != want.leased {
			t.Errorf("round %d: %d messages leased, want %d", round, n, want.leased)
		}
		if again, dead := s.count(t, `dead = 0`), s.count(t, `dead = 1`); again != want.again || dead != want.dead {
			t.Errorf("round %d: %d to be sent again and %d dead, want %d and %d", round, again, dead, want.again, want.dead)
		}
	}
	if local != 12 {
		t.Errorf("%d messages arrived in this process, want 12: the breaker has no say in them", local)
	}
	if n := len(resiliencetest.Of[events.AttemptFinished](s.told)); n != 10 {
		t.Errorf("the broker was asked %d times, want 10, the least that opens the breaker", n)
	}
	if n := len(resiliencetest.Of[events.CallRejected](s.told)); n != 4*12-10 {
		t.Errorf("the breaker refused %d times, want %d", n, 4*12-10)
	}
	if n := s.count(t, `reason LIKE '%circuit breaker broker is open%'`); n != 12 {
		t.Errorf("%d dead letters say that the breaker was open, want 12", n)
	}
	if s.lines() != 4 || strings.Count(s.log.String(), "\n") != 4+1 {
		t.Errorf("want a line for each of four batches, and one for the breaker:\n%s", s.log)
	}
	if !strings.Contains(s.log.String(), "level=ERROR msg=\"outbox batch\" leased=12 sent=0 again=0 dead=12") {
		t.Errorf("the log does not tell of the dead letters as of an error:\n%s", s.log)
	}
}

func TestAHandlerInThisProcessThatFailsDoesNotOpenTheBrokersBreaker(t *testing.T) {
	s := newSite(t, production(20))
	s.place(t, 20)
	s.relay.local[stockTaken] = func(context.Context, message) error { return context.DeadlineExceeded }
	s.batch(t)
	if n := s.stored(t); n != 20 {
		t.Errorf("%d orders in the stream, want 20", n)
	}
	if n := s.count(t, `dead = 0 AND attempts = 1`); n != 20 {
		t.Errorf("%d messages to be handled again, want 20", n)
	}
	resiliencetest.WantNone[events.BreakerStateChanged](t, s.told)
}

func TestWhatTheBrokerHasAlreadyIsInItsStreamOnce(t *testing.T) {
	s := newSite(t, production(20))
	s.place(t, 5)
	leased, err := s.relay.outbox.take(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range leased { // sent by a process that dies before it settles
		if err := s.relay.send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.batch(t); n != 0 {
		t.Errorf("%d messages were sent while another has their lease", n)
	}
	if _, err := s.db.ExecContext(t.Context(), `UPDATE outbox SET due = 0`); err != nil { // the lease is over
		t.Fatal(err)
	}
	if n := s.batch(t); n != 10 {
		t.Errorf("%d messages were sent again, want 10", n)
	}
	if n := s.stored(t); n != 5 {
		t.Errorf("%d messages in the stream, want 5", n)
	}
	if n := s.count(t, `true`); n != 0 {
		t.Errorf("%d messages are left in the outbox", n)
	}
}

func TestAMessageThatKillsItsProcessBecomesADeadLetter(t *testing.T) {
	s := newSite(t, settings{maxAttempts: 3, cooldown: cooldown}) // a lease of no time
	s.place(t, 1)
	for round, want := range []int{2, 2, 2, 0} {
		if leased, err := s.relay.outbox.take(t.Context(), 100); err != nil || len(leased) != want {
			t.Errorf("round %d: %d leased, %v, want %d", round, len(leased), err, want)
		}
	}
	if n := s.count(t, `dead = 1`); n != 2 {
		t.Errorf("%d dead letters, want 2", n)
	}
}

func TestWhoSettlesTooLateLeavesAnothersLeaseAlone(t *testing.T) {
	s := newSite(t, settings{maxAttempts: 20, cooldown: cooldown})
	s.place(t, 1)
	late, _ := s.relay.outbox.take(t.Context(), 1)
	s.relay.outbox.lease = time.Hour
	again, _ := s.relay.outbox.take(t.Context(), 1)
	if len(late) != 1 || len(again) != 1 || late[0].id != again[0].id {
		t.Fatalf("leased %v, then %v", late, again)
	}
	if err := s.relay.outbox.settle(t.Context(), nil, []failure{{message: late[0], err: context.Canceled}}); err != nil {
		t.Fatal(err)
	}
	if leased, _ := s.relay.outbox.take(t.Context(), 1); len(leased) == 1 && leased[0].id == late[0].id {
		t.Error("the message was leased to a third while the second sends it")
	}
}

func TestAnOrderIsNotThereWithoutItsMessages(t *testing.T) {
	s := newSite(t, production(20))
	if _, err := s.db.ExecContext(t.Context(), `DROP TABLE outbox`); err != nil {
		t.Fatal(err)
	}
	if _, err := place(t.Context(), s.db, "chair"); err == nil {
		t.Error("an order was placed that nobody will hear of")
	}
	var placed int
	if err := s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM orders`).Scan(&placed); err != nil || placed != 0 {
		t.Errorf("%d orders are there, %v, want none", placed, err)
	}
}

func TestThePublisherIsAskedOnceAndItsBreakerIsAsPromised(t *testing.T) {
	s := newSite(t, production(20))
	p, err := newPublisher(s.conn, cooldown, events.NewBus())
	if err != nil {
		t.Fatal(err)
	}
	if w := p.calls.Warnings(); len(w) > 0 {
		t.Errorf("the pipeline warns of %+v", w)
	}
	described := p.calls.Describe()
	if described.AttemptsAtWorst != 1 {
		t.Errorf("%d attempts, want 1: the outbox is the retry", described.AttemptsAtWorst)
	}
	got := map[string]string{}
	for _, setting := range described.Layers[0].Settings {
		got[setting.Name] = setting.Value
	}
	for name, want := range map[string]string{"failure_ratio": "0.5", "min_calls": "10", "window": "30s", "cooldown": "15s"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q: %v", name, got[name], want, got)
		}
	}
	varz, _ := s.broker.Varz(nil)
	if err := p.publish(t.Context(), message{id: 1, subject: "nobody.listens"}); err == nil {
		t.Error("published to a subject that no stream has")
	}
	after, _ := s.broker.Varz(nil)
	if n := after.InMsgs - varz.InMsgs; n != 1 {
		t.Errorf("the broker got %d messages, want 1: the client must not retry", n)
	}
}

func TestABrokerThatDoesNotAcknowledgeIsGivenUp(t *testing.T) {
	s := newSite(t, production(20))
	if _, err := s.conn.Subscribe("silent", func(*nats.Msg) {}); err != nil { // listens, and never answers
		t.Fatal(err)
	}
	if err := s.relay.publish(t.Context(), message{subject: "silent"}); resilience.KindOf(err) != resilience.KindUnavailable {
		t.Errorf("got %v, want a timeout", err)
	}
	resiliencetest.Want(t, s.told, events.TimedOut{})
}

func TestTheExampleTellsWhatHappens(t *testing.T) {
	var out lockedBuilder
	if err := play(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"leased=6 sent=6", "circuit breaker opened", "leased=24 sent=12 again=12 dead=0", "circuit breaker closed",
		"15 orders were placed, 15 are in the stream"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not say %q:\n%s", want, out.String())
		}
	}
}

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
