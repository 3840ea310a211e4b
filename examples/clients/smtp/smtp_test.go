package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

var welcome = mail{From: "shop@example.com", To: "ada@example.com", Body: []byte("Subject: Welcome\r\n\r\nHello Ada\r\n")}

func started(t *testing.T, s settings) (*server, *mailer, *resiliencetest.Recorder) {
	t.Helper()
	server, err := startServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	bus := events.NewBus()
	m, err := newMailer(server.Address, s, bus)
	if err != nil {
		t.Fatal(err)
	}
	return server, m, resiliencetest.Record(bus)
}

func TestTheLimitIsOneToSixHundredSecondsAndThirtyByDefault(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 30 * time.Second, "1": time.Second, "30": 30 * time.Second, "600": 10 * time.Minute} {
		s, err := parse(func(string) string { return text })
		if err != nil || s.Timeout != want {
			t.Errorf("%q means %v %v, want %v", text, s.Timeout, err, want)
			continue
		}
		_, m, _ := started(t, s)
		if w := m.calls.Warnings(); len(w) > 0 {
			t.Errorf("with %q the pipeline warns of %+v", text, w)
		}
	}
}

func TestALimitOutOfBoundsFailsAtTheStartAndSaysWhatIsAllowed(t *testing.T) {
	for _, text := range []string{"0", "-1", "601", "30s", "1.5", "half a minute", " 30", "99999999999999999999"} {
		var out strings.Builder
		err := run(t.Context(), func(string) string { return text }, &out)
		var wrong *resilience.ConfigError
		if !errors.As(err, &wrong) || wrong.Field != "SMTP_TIMEOUT_SECONDS" || wrong.Value != text {
			t.Errorf("%q: got %v, want a *ConfigError", text, err)
			continue
		}
		if !strings.Contains(err.Error(), "from 1 to 600") || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: the error does not say what is allowed: %v", text, err)
		}
		if out.Len() > 0 {
			t.Errorf("%q: the service did something before it failed:\n%s", text, &out)
		}
	}
}

func TestAMailIsSentAgainOnlyIfTheServerSurelyDoesNotHaveIt(t *testing.T) {
	for fault, want := range map[fault]struct {
		attempts int
		accepted int64
		class    string // of the error; "" for none
		surely   bool   // not processed
	}{
		none:        {attempts: 1, accepted: 1},
		greylisted:  {attempts: 2, accepted: 1},
		diskFull:    {attempts: 2, accepted: 1},
		dropsMail:   {attempts: 2, accepted: 1},
		noSuchUser:  {attempts: 1, accepted: 0, class: "smtp_550", surely: true},
		dropsAnswer: {attempts: 1, accepted: 1, class: "smtp_no_answer"},
	} {
		server, m, told := started(t, settings{Timeout: 10 * time.Second})
		server.will(fault)
		err := m.send(t.Context(), welcome)
		if n := len(resiliencetest.Of[events.AttemptFinished](told)); n != want.attempts {
			t.Errorf("%s: %d attempts, want %d", fault, n, want.attempts)
		}
		if n := server.accepted.Load(); n != want.accepted {
			t.Errorf("%s: the server has the mail %d times, want %d", fault, n, want.accepted)
		}
		var failed *sendError
		switch {
		case want.class == "" && err != nil:
			t.Errorf("%s: got %v", fault, err)
		case want.class != "" && (!errors.As(err, &failed) || failed.ErrorType() != want.class || resilience.IsNotProcessed(err) != want.surely):
			t.Errorf("%s: got %v, want %s, surely not processed: %v", fault, err, want.class, want.surely)
		}
	}
}

func TestAServerThatIsDownIsAskedThreeTimesAndThenLeftAlone(t *testing.T) {
	server, m, told := started(t, settings{Timeout: 10 * time.Second})
	_ = server.Close()
	err := m.send(t.Context(), welcome)
	if resilience.KindOf(err) != resilience.KindUnavailable || !resilience.IsNotProcessed(err) {
		t.Errorf("got %v of the kind %v", err, resilience.KindOf(err))
	}
	if n := len(resiliencetest.Of[events.AttemptFinished](told)); n != 3 {
		t.Errorf("%d attempts, want 3", n)
	}
	if err := m.send(t.Context(), welcome); !errors.Is(err, resilience.ErrBreakerOpen) {
		t.Errorf("after five failures in a row got %v, want a refusal", err)
	}
}

func TestMailsThatAreRefusedForGoodSayNothingAgainstTheServer(t *testing.T) {
	server, m, told := started(t, settings{Timeout: 10 * time.Second})
	for range 20 {
		server.will(noSuchUser)
		if err := m.send(t.Context(), welcome); resilience.KindOf(err) != resilience.KindUnhandled {
			t.Fatalf("got %v of the kind %v", err, resilience.KindOf(err))
		}
	}
	resiliencetest.WantNone[events.BreakerStateChanged](t, told)
	resiliencetest.WantNone[events.RetryScheduled](t, told)
}

func TestAServerThatDoesNotAnswerIsGivenUpAtTheLimitAndNotAskedAgain(t *testing.T) {
	server, m, told := started(t, settings{Timeout: 300 * time.Millisecond})
	server.will(hangs)
	began := time.Now()
	err := m.send(t.Context(), welcome)
	if !errors.Is(err, resilience.ErrTimeout) || resilience.IsNotProcessed(err) {
		t.Errorf("got %v, surely not processed: %v", err, resilience.IsNotProcessed(err))
	}
	if took := time.Since(began); took < 300*time.Millisecond || took > 10*time.Second {
		t.Errorf("it took %v, want the limit of 300ms", took)
	}
	if n := len(resiliencetest.Of[events.AttemptFinished](told)); n != 1 {
		t.Errorf("%d attempts, want 1: the server may have the mail", n)
	}
}

func TestACallerWhoLeavesIsNotKeptByTheServer(t *testing.T) {
	server, m, _ := started(t, settings{Timeout: time.Minute})
	server.will(hangs)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		for server.accepted.Load() == 0 { // it has the mail, and says nothing
			time.Sleep(time.Millisecond)
		}
		leave()
	}()
	began := time.Now()
	if err := m.send(ctx, welcome); resilience.KindOf(err) != resilience.KindCanceled {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestTheExampleTellsWhatHappens(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), func(string) string { return "" }, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"a mail may take 30s", "<nil>; the server has it 1 times", `-> smtp: RCPT: 550 "5.1.1 no such user"; the server has it 0 times`,
		"-> smtp: final dot: EOF; the server has it 1 times", "error.type=smtp_451", "resilience.reason=permanent", "resilience.reason=not_retryable",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not say %q:\n%s", want, out.String())
		}
	}
}
