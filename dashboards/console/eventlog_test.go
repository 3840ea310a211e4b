package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// BUS-12: no value, key or error's text is shown.
func TestNothingPersonalIsShown(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		breaker := r.breaker("b")
		p := r.pipeline("p", resilience.Timeout{After: time.Second}, resilience.Retry{Backoff: resilience.NoDelay,
			OnRetry: func(context.Context, resilience.FailedAttempt) bool { panic("secret-panic") }}, breaker)
		r.bus.LateResult.Subscribe(func(context.Context, events.LateResult) { panic("secret-panic") })
		viewer := r.connect("")
		for range 5 {
			_, _ = p.DoKey(r.t.Context(), "secret-key", func(context.Context) (int, error) { return 0, fmt.Errorf("secret-wrap: %w", errSecret) })
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		all := r.get("/?severity=debug") + r.get("/state.json") + r.get("/events.json")
		for _, m := range viewer.read() {
			all += m.data
		}
		if strings.Contains(all, "secret") {
			t.Error("something secret is shown")
		}
		if !strings.Contains(all, "callback.panicked") || !strings.Contains(all, "circuit_breaker.state_changed") {
			t.Error("events are missing: the test proves nothing")
		}
		viewer.leave()
		<-viewer.gone
	})
}

// BUS-13: every kind of event can be shown.
func TestEveryEventIsShown(t *testing.T) {
	for _, e := range events.Catalogue() {
		r := newRecord(e.Zero, events.SeverityOf(e.Zero))
		var fields map[string]any
		if err := json.Unmarshal(r.Event, &fields); err != nil || fields[events.KeyEventName] != e.Name {
			t.Errorf("%s: %s, %v", e.Name, r.Event, err)
		}
		if html := render("event", r); !strings.Contains(html, e.Name) || strings.Contains(html, "console:") {
			t.Errorf("%s: %s", e.Name, html)
		}
	}
}

func TestDetailsAreForPeople(t *testing.T) {
	bus := events.NewBus()
	p := bus.NewSource(events.SourceSpec{Pipeline: "users.get", Type: events.TypePipeline, Layers: []events.SourceSpec{{Pipeline: "users.get", Layer: "db", Type: events.TypeBreaker}}})
	meta, layer := events.Meta{Source: p}, events.Meta{Source: p.Layers()[0]}
	for want, e := range map[string]events.Event{
		"outcome rejected, reason open, layer name db, attempts 2, duration 1.5 s, error type _OTHER": events.ExecutionFinished{Meta: meta,
			Outcome: events.OutcomeRejected, Reason: events.ReasonOpen, Layer: p.Layers()[0], Attempts: 2, Duration: 1500 * time.Millisecond, Err: errSecret},
		"reason open, retry after 250 ms": events.CallRejected{Meta: layer, Reason: events.ReasonOpen, RetryAfter: 250 * time.Millisecond},
		"state from closed, state open, reason ratio, calls 20, failures 10, failure ratio 0.5, limit 0.5, cooldown 5.0 s, seq 3": events.BreakerStateChanged{Meta: layer,
			From: closed, To: open, Reason: events.ReasonRatio, Seq: 3, Calls: 20, Failures: 10, FailureRatio: 0.5, Limit: 0.5, Cooldown: 5 * time.Second},
	} {
		if got := newRecord(e, events.SeverityDebug).Details; got != want {
			t.Errorf("%s: %q, want %q", e.EventName(), got, want)
		}
	}
}

func TestANumberThatJSONHasNotIsNoReasonToFail(t *testing.T) {
	r := newRecord(events.BreakerStateChanged{FailureRatio: math.NaN(), Limit: math.Inf(1)}, events.SeverityInfo)
	if !json.Valid(r.Event) || !strings.Contains(string(r.Event), "state_changed") {
		t.Errorf("%s", r.Event)
	}
	inBubble(t, Config{}, func(rig *rig) {
		s := rig.bus.NewSource(events.SourceSpec{Layer: "b", Type: events.TypeBreaker, Breaker: func() events.BreakerReading {
			return events.BreakerReading{State: open, FailureRatio: math.NaN(), Limit: math.Inf(1)}
		}})
		broken := rig.bus.NewSource(events.SourceSpec{Layer: "c", Type: "mine", Limiter: func() events.LimiterReading { panic("broken") }})
		rig.kept = append(rig.kept, s, broken)
		if got := rig.getState(); len(got.Breakers) != 1 || len(got.Limits) != 1 || got.Limits[0].Limiter != nil {
			t.Errorf("%+v", got)
		}
		rig.get("/")
	})
}

func TestCallsThatGoWellDoNotPushOutWhatDoesNot(t *testing.T) {
	inBubble(t, Config{Events: 20}, func(r *rig) {
		p := r.pipeline("p")
		r.get("/events.json")
		_, _ = p.Do(r.t.Context(), fail)
		for range 10 {
			for range 20 {
				_, _ = p.Do(r.t.Context(), succeed)
			}
			time.Sleep(time.Second)
		}
		if got := r.getEvents("?severity=warn"); len(got) != 1 {
			t.Errorf("%d warnings", len(got))
		}
		all := r.getEvents("")
		if len(all) > 40 {
			t.Errorf("%d events are kept", len(all))
		}
		last := 0.0
		for _, e := range all {
			if e["id"].(float64) <= last {
				t.Fatalf("not in order: %v", all)
			}
			last = e["id"].(float64)
		}
	})
}

func TestFiltersSelect(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		a, b := r.pipeline("a", retry(2)), r.pipeline("b", retry(2))
		r.get("/state.json")
		_, _ = a.Do(r.t.Context(), fail)
		_, _ = b.Do(r.t.Context(), succeed)
		synctest.Wait()
		for query, want := range map[string]int{
			"?pipeline=a": 9, "?pipeline=b": 5, "?pipeline=none": 0, "?event=retry.scheduled": 1, "?severity=warn": 1,
			"?pipeline=a&event=attempt.started": 2, "?after=1000000": 0, "?severity=error": 0,
		} {
			if got := r.getEvents(query); len(got) != want {
				t.Errorf("%s: %d events, want %d", query, len(got), want)
			}
		}
	})
}

func TestCallsOfSubscribersAreNotShown(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		p := r.pipeline("p")
		r.get("/state.json")
		for range 10 {
			_, _ = p.Do(events.Nest(r.t.Context()), fail)
		}
		time.Sleep(2 * time.Second)
		if n := len(r.getEvents("?event=execution.finished")); n != 0 {
			t.Errorf("%d nested calls are shown", n)
		}
		if s := r.getState(); s.Pipelines[0].Traffic.PerSecond != 0 {
			t.Errorf("nested calls count: %+v", s.Pipelines[0].Traffic)
		}
	})
}

// Everything at once: what is built, called, closed, looked at.
func TestEverythingAtOnce(t *testing.T) {
	r, server := quick(t, pace{time.Millisecond, 2 * time.Millisecond, time.Second}, func(*http.Server) {})
	b := r.breaker("b")
	deadline := time.Now().Add(300 * time.Millisecond)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for time.Now().Before(deadline) {
				p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: fmt.Sprint("p", i), Layers: []resilience.Layer{retry(2), b}, Bus: r.bus})
				for range 20 {
					_, _ = p.Do(context.Background(), fail)
				}
				b.Reset()
				_ = p.Close(context.Background())
			}
		})
		all.Go(func() {
			for time.Now().Before(deadline) {
				for _, path := range []string{"/", "/state.json", "/events.json?severity=info"} {
					if rec := r.ask("GET", path); rec.Code != 200 {
						t.Errorf("%s: %d", path, rec.Code)
					}
				}
				time.Sleep(time.Duration(i) * 2 * time.Millisecond) // now and then nobody looks
			}
		})
		all.Go(func() {
			for time.Now().Before(deadline) {
				ctx, cancel := contextWithTimeout(time.Duration(i+1) * 5 * time.Millisecond)
				if err := readStream(ctx, server.URL+"/stream"); err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	all.Wait()
	within(t, 5*time.Second, "nobody looks any more", func() bool { return !r.bus.CallsHeard() })
}
