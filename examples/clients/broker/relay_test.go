package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

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
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // so that the test ends, too
	defer cancel()
	if err := s.relay.publish(ctx, message{subject: "silent"}); resilience.KindOf(err) != resilience.KindUnavailable {
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
