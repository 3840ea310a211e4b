package main

import (
	"context"
	"testing"
	"time"
)

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
