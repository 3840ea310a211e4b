package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

func started(t *testing.T) (*service, *sqs.Client, string) {
	t.Helper()
	service := &service{}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	return service, newClient(server.URL, local), server.URL + "/orders.fifo"
}

func queueOf(t *testing.T, client *sqs.Client, url string, attempt time.Duration) (*queue, *resiliencetest.Recorder) {
	t.Helper()
	bus := events.NewBus()
	q, err := newQueue(client, url, attempt, bus)
	if err != nil {
		t.Fatal(err)
	}
	if w := q.sends.Warnings(); len(w) > 0 {
		t.Errorf("the pipeline warns of %+v", w)
	}
	return q, resiliencetest.Record(bus)
}

func always(a answer) []answer {
	answers := make([]answer, 100)
	for i := range answers {
		answers[i] = a
	}
	return answers
}

func TestTheClientThatIsHandedOutNeverRetriesAndHasALimit(t *testing.T) {
	service, client, url := started(t)
	options := client.Options()
	if n := options.Retryer.MaxAttempts(); n != 1 {
		t.Errorf("the client makes %d attempts of a call, want 1", n)
	}
	if h, ok := options.HTTPClient.(*http.Client); !ok || h.Timeout <= 0 {
		t.Errorf("the client has no limit: %+v", options.HTTPClient)
	}
	message := &sqs.SendMessageInput{QueueUrl: &url, MessageBody: new("2 chairs")}
	for name, fault := range map[string]answer{"unavailable": unavailable, "throttled": throttled, "no such queue": noSuchQueue} {
		service.will(always(fault)...)
		if _, err := client.SendMessage(t.Context(), message); err == nil {
			t.Errorf("%s: no error", name)
		}
		if n := len(service.got()); n != 1 {
			t.Errorf("%s: the service got %d requests, want 1", name, n)
		}
		if h := service.got()[0].Get("Amz-Sdk-Request"); h != "attempt=1; max=1" {
			t.Errorf("%s: the SDK says that it makes %q", name, h)
		}
	}

	// What it would do otherwise, so that the counts above mean something.
	options.Retryer = nil
	service.will(always(unavailable)...)
	if _, err := sqs.New(options).SendMessage(t.Context(), message); err == nil || len(service.got()) != 3 {
		t.Errorf("by default the SDK sent %d requests, want 3: %v", len(service.got()), err)
	}
}

func TestThePipelineRepeatsWhatTheSDKWouldRepeat(t *testing.T) {
	for name, want := range map[string]struct {
		answers  []answer
		requests int
		kind     resilience.Kind
	}{
		"success":       {nil, 1, resilience.KindOK},
		"unavailable":   {[]answer{unavailable}, 2, resilience.KindOK},
		"throttled":     {[]answer{throttled, throttled}, 3, resilience.KindOK},
		"down":          {always(unavailable), 3, resilience.KindUnavailable},
		"no such queue": {always(noSuchQueue), 1, resilience.KindUnhandled},
	} {
		service, client, url := started(t)
		q, told := queueOf(t, client, url, 10*time.Second)
		service.will(want.answers...)
		out, err := q.send(t.Context(), "order-42", "2 chairs")
		if resilience.KindOf(err) != want.kind || (err == nil) != (out != nil && out.MessageId != nil) {
			t.Errorf("%s: got %v %v of the kind %v, want %v", name, out, err, resilience.KindOf(err), want.kind)
		}
		if n := len(service.got()); n != want.requests {
			t.Errorf("%s: the service got %d requests, want %d", name, n, want.requests)
		}
		if n := len(resiliencetest.Of[events.AttemptFinished](told)); n != want.requests {
			t.Errorf("%s: %d attempts, but %d requests: somebody else sends, too", name, n, want.requests)
		}
	}
}

func TestTheSDKsErrorsArriveAsTheyAre(t *testing.T) {
	service, client, url := started(t)
	q, _ := queueOf(t, client, url, 10*time.Second)
	service.will(noSuchQueue)
	_, err := q.send(t.Context(), "order-42", "2 chairs")
	if missing := (*types.QueueDoesNotExist)(nil); !errors.As(err, &missing) {
		t.Errorf("got %v, want a *types.QueueDoesNotExist", err)
	}
}

func TestAServiceThatHangsIsAskedAgainAfterTheAttemptsLimit(t *testing.T) {
	service, client, url := started(t)
	q, told := queueOf(t, client, url, 200*time.Millisecond)
	service.will(hangs)
	if _, err := q.send(t.Context(), "order-42", "2 chairs"); err != nil {
		t.Errorf("got %v", err)
	}
	if n := len(service.got()); n != 2 {
		t.Errorf("the service got %d requests, want 2", n)
	}
	if fired := resiliencetest.Of[events.TimedOut](told); len(fired) != 1 || fired[0].Source.Layer() != "attempt" {
		t.Errorf("timeouts that expired: %v, want the attempt's", fired)
	}
}

func TestRequestsThatAreWrongDoNotOpenTheBreaker(t *testing.T) {
	service, client, url := started(t)
	q, told := queueOf(t, client, url, 10*time.Second)
	service.will(always(noSuchQueue)...)
	for range 20 {
		if _, err := q.send(t.Context(), "order-42", "2 chairs"); errors.Is(err, resilience.ErrBreakerOpen) {
			t.Fatal(err)
		}
	}
	resiliencetest.WantNone[events.BreakerStateChanged](t, told)
}

func TestACallerWhoLeavesIsNotTakenForAFailure(t *testing.T) {
	service, client, url := started(t)
	q, told := queueOf(t, client, url, 10*time.Second)
	service.will(always(hangs)...)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		for len(service.got()) == 0 {
			time.Sleep(time.Millisecond)
		}
		leave()
	}()
	if _, err := q.send(ctx, "order-42", "2 chairs"); resilience.KindOf(err) != resilience.KindCanceled {
		t.Errorf("got %v of the kind %v", err, resilience.KindOf(err))
	}
	if n := len(service.got()); n != 1 {
		t.Errorf("%d requests for a caller who left, want 1", n)
	}
	resiliencetest.WantNone[events.RetryScheduled](t, told)
}

func TestTheExampleTellsWhatHappens(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"attempts that the SDK makes of a call: 1", "-> 3 requests, ok", "-> 2 requests, ok", "-> 1 requests, unhandled"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not say %q:\n%s", want, out.String())
		}
	}
}
