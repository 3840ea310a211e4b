package httpres_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// warnings keeps what a bus warns of.
func warnings(bus *events.Bus) *[]string {
	told := new([]string)
	bus.ConfigWarning.Subscribe(func(_ context.Context, w events.ConfigWarning) {
		*told = append(*told, fmt.Sprintf("%s of %s: %s", w.Code, w.Source.Pipeline(), w.Message))
	})
	return told
}

// HTTP-06, HTTP-11, PIPE-10: of the client's Timeout and the preset's the shorter wins, and where that is the client's it is told, once.
func TestShorterTimeoutOfTheClientWinsAndIsReported(t *testing.T) {
	for _, c := range []struct {
		client, took time.Duration
		outcome      events.Outcome
		warned       int
	}{
		{5 * time.Second, 5 * time.Second, events.OutcomeCanceled, 1},
		{29 * time.Second, 29 * time.Second, events.OutcomeCanceled, 1},
		{40 * time.Second, 30 * time.Second, events.OutcomeTimeout, 0},
		{0, 30 * time.Second, events.OutcomeTimeout, 0},
	} {
		inBubble(t, "HTTP/1.1", stall, func(t *testing.T, base *http.Transport, _ *network) {
			cfg := httpres.Standard("users")
			cfg.Bus = events.NewBus()
			cfg.Layers[2] = resilience.Retry{MaxAttempts: resilience.Unlimited, Backoff: resilience.NoDelay, IgnoreDeadline: true}
			told, heard := warnings(cfg.Bus), resiliencetest.Record(cfg.Bus)
			client := &http.Client{Transport: httpres.MustTransport(base, cfg), Timeout: c.client}
			for range 2 {
				began := time.Now()
				_, err := client.Get(bubbleURL)
				took := time.Since(began)
				synctest.Wait()
				told := resiliencetest.Of[events.ExecutionFinished](heard)
				if last := told[len(told)-1]; err == nil || last.Outcome != c.outcome || took != c.took {
					t.Errorf("client %v: %v, told as %v, after %v; want %v after %v", c.client, err, last.Outcome, took, c.outcome, c.took)
				}
			}
			if len(*told) != c.warned {
				t.Errorf("client %v: told %q", c.client, *told)
			}
			for _, w := range *told {
				if !strings.HasPrefix(w, "client_timeout of users: ") || !strings.Contains(w, `30s of layer "total"`) {
					t.Errorf("client %v: told %q", c.client, w)
				}
			}
		})
	}
}

// PIPE-15: where the client's Timeout has to stay, CountDeadlines has the breaker see what hangs until then.
func TestHangUntilTheClientsTimeoutOpensTheBreakerThatCountsDeadlines(t *testing.T) {
	for _, counts := range []bool{false, true} {
		inBubble(t, "HTTP/1.1", stall, func(t *testing.T, base *http.Transport, _ *network) {
			bus := events.NewBus()
			hosts := httpres.MustBreakerPerHost(resilience.BreakerConfig{Name: "hosts", FailureRatio: 0.5, MinCalls: 3, CountDeadlines: counts, Bus: bus})
			tr := configured(t, base, httpres.Config{Bus: bus, Layers: []resilience.Layer{resilience.Timeout{After: time.Minute}, hosts}})
			client := &http.Client{Transport: tr, Timeout: time.Second}
			var err error
			for range 4 {
				_, err = client.Get(bubbleURL)
			}
			if opened := errors.Is(err, resilience.ErrBreakerOpen); opened != counts {
				t.Errorf("CountDeadlines %t: the fourth request ended with %v", counts, err)
			}
		})
	}
}

// HTTP-11: one retry owner: a client's own retries around a transport that retries are told of, once.
func TestRetriesOfAnSDKAreReported(t *testing.T) {
	s := serve(t, answers(200))
	for _, c := range []struct {
		header, value string
		layers        []resilience.Layer
		warned        bool
	}{
		{"Amz-Sdk-Request", "attempt=2; max=3", []resilience.Layer{thrice}, true},
		{"Amz-Sdk-Request", "attempt=1; max=3", []resilience.Layer{thrice}, false},
		{"Amz-Sdk-Request", "attempt=2; max=3", []resilience.Layer{resilience.Timeout{}}, false}, // there is one owner
		{"Amz-Sdk-Request", "max=3", []resilience.Layer{thrice}, false},
		{"X-Stainless-Retry-Count", "1", []resilience.Layer{thrice}, true},
		{"X-Stainless-Retry-Count", "0", []resilience.Layer{thrice}, false},
		{"X-Goog-Api-Client", "gl-go/1.26 gccl/1.2 gccl-invocation-id/abc gccl-attempt-count/3", []resilience.Layer{thrice}, true},
		{"X-Goog-Api-Client", "gl-go/1.26 gccl/1.2 gccl-invocation-id/abc gccl-attempt-count/1", []resilience.Layer{thrice}, false},
		{"X-Try", "2", []resilience.Layer{resilience.Hedge{Delay: time.Hour}}, true},
		{"X-Try", "1", []resilience.Layer{thrice}, false},
		{"X-Try", "99999999999999999999", []resilience.Layer{thrice}, false},
		{"X-Try", "many", []resilience.Layer{thrice}, false},
		{"X-Other", "2", []resilience.Layer{thrice}, false},
	} {
		bus := events.NewBus()
		told := warnings(bus)
		tr := configured(t, s.base(), httpres.Config{Name: "storage", Bus: bus, Layers: c.layers, AttemptHeader: "X-Try"})
		for range 2 {
			req := request(t, "GET", s.URL, nil)
			req.Header.Set(c.header, c.value)
			send(t, tr, req)
		}
		if got := len(*told) == 1 && strings.HasPrefix((*told)[0], "nested_retry of storage: "); got != c.warned || len(*told) > 1 {
			t.Errorf("%s: %s: told %q", c.header, c.value, *told)
		}
	}
}
