package slogres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
)

// stormOf publishes n identical events, a millisecond apart, from a time on, and returns the time of the last.
func stormOf(bus *events.Bus, s *events.Source, n int, at time.Time, err error) time.Time {
	for range n {
		at = at.Add(time.Millisecond)
		bus.TimedOut.Publish(context.Background(), events.TimedOut{Meta: events.Meta{Source: s, At: at}, Limit: time.Second, Err: err})
	}
	return at
}

// standFor adds up how many events the records stand for.
func standFor(records []slog.Record) (n int) {
	for _, r := range records {
		if several, ok := attrsOf(r)[KeyStandsFor]; ok {
			n += int(several.(int64))
		} else {
			n++
		}
	}
	return n
}

// SLOG-02: the first are written at once, the rest becomes one record at the next event when the period is over, whatever
// event that is, also one whose level is disabled.
func TestAStormBecomesAFewRecordsThatSayHowManyTheyStandFor(t *testing.T) {
	bus, h := events.NewBus(), &recorder{min: slog.LevelInfo}
	p := newPipeline(bus)
	defer MustAttach(bus, Config{Handler: h})()
	last := stormOf(bus, p.retry, 1000, start, errDown)
	if n := len(h.all()); n != 10 {
		t.Fatalf("%d records during the storm, want 10", n)
	}
	debug := func(at time.Time) {
		bus.LateResult.Publish(context.Background(), events.LateResult{Meta: events.Meta{Source: p.breaker, At: at}})
	}
	debug(start.Add(9 * time.Second))
	if n := len(h.all()); n != 10 {
		t.Fatalf("%d records before the period is over, want 10", n)
	}
	debug(start.Add(11 * time.Second))
	records := h.all()
	if len(records) != 11 || standFor(records) != 1000 {
		t.Fatalf("%d records stand for %d events, want 11 for 1000", len(records), standFor(records))
	}
	summary := records[10]
	if got := attrsOf(summary); got[KeyStandsFor] != int64(990) || got["event.name"] != "timeout.fired" ||
		got["resilience.layer.name"] != "retry" || got["error.type"] != "_OTHER" || !summary.Time.Equal(last) || summary.Message != records[0].Message {
		t.Errorf("the last record is %v %q %v", summary.Time, summary.Message, got)
	}
	debug(start.Add(time.Minute))
	stormOf(bus, p.retry, 12, start.Add(time.Minute), errDown)
	if n := len(h.all()); n != 21 {
		t.Errorf("%d records when the next period begins, want ten more at once", n)
	}
}

// SLOG-02: what is still counted is told at detach, once, with and without a buffer.
func TestDetachTellsWhatWasWithheld(t *testing.T) {
	for _, buffered := range []int{0, 100} {
		bus, h := events.NewBus(), debugRecorder()
		p := newPipeline(bus)
		detach := MustAttach(bus, Config{Handler: h, Burst: 2, Buffered: buffered})
		stormOf(bus, p.retry, 50, start, errDown)
		detach()
		detach()
		if records := h.of("timeout.fired"); len(records) != 3 || standFor(records) != 50 {
			t.Errorf("buffered %d: %d records stand for %d events, want 3 for 50", buffered, len(records), standFor(records))
		}
	}
}

// SLOG-02: only identical events are taken together.
func TestEventsThatDifferAreNotTakenTogether(t *testing.T) {
	bus, h := events.NewBus(), &recorder{min: slog.LevelWarn}
	p := newPipeline(bus)
	ctx := context.Background()
	detach := MustAttach(bus, Config{Handler: h, Burst: 1})
	for range 5 {
		stormOf(bus, p.retry, 1, start, errDown)
		stormOf(bus, p.breaker, 1, start, errDown)
		stormOf(bus, p.retry, 1, start, context.DeadlineExceeded)
		for _, reason := range []events.Reason{events.ReasonOpen, events.ReasonFull} {
			p.call(ctx, func(context.Context) events.ExecutionFinished {
				return events.ExecutionFinished{Outcome: events.OutcomeRejected, Reason: reason}
			})
		}
		bus.ConfigWarning.Publish(ctx, events.ConfigWarning{Meta: p.meta(p.source, 0), Code: "one"})
		bus.ConfigWarning.Publish(ctx, events.ConfigWarning{Meta: p.meta(p.source, 0), Code: "two"})
	}
	if n := len(h.all()); n != 7 {
		t.Errorf("%d records at once, want one each of 7 kinds: %q", n, h.messages())
	}
	detach()
	if n := len(h.all()); n != 14 || standFor(h.all()) != 35 {
		t.Errorf("%d records stand for %d events, want 14 for 35", n, standFor(h.all()))
	}
}

func TestDebugAndANegativeBurstHaveNoBound(t *testing.T) {
	for name, cfg := range map[string]Config{
		"debug":          {Level: func(events.Event) slog.Level { return slog.LevelDebug }},
		"negative burst": {Burst: -1},
	} {
		bus, h := events.NewBus(), debugRecorder()
		cfg.Handler = h
		detach := MustAttach(bus, cfg)
		stormOf(bus, newPipeline(bus).retry, 100, start, errDown)
		detach()
		if n := len(h.of("timeout.fired")); n != 100 {
			t.Errorf("%s: %d records, want 100", name, n)
		}
	}
}

type classed string

func (c classed) Error() string     { return "secret" }
func (c classed) ErrorType() string { return string(c) }

// SLOG-02: however many kinds there are, memory is bounded, and no event is lost.
func TestTheKindsThatAreToldApartAreBounded(t *testing.T) {
	bus, h := events.NewBus(), &recorder{min: slog.LevelWarn}
	p := newPipeline(bus)
	s := newStorms(Config{Burst: 1})
	a := &attachment{Config: Config{Handler: h, Burst: 1}, by: bus.Subscriber(), storms: s}
	cancel := hear(a, &bus.TimedOut)
	for i := range 3 * maxStorms {
		stormOf(bus, p.retry, 2, start, classed(fmt.Sprint(i)))
	}
	if n := len(s.kinds); n > maxStorms+1 {
		t.Errorf("%d kinds are kept, want at most %d", n, maxStorms+1)
	}
	later := start.Add(time.Hour)
	for i := range maxStorms {
		stormOf(bus, p.retry, 1, later, classed(fmt.Sprint("later ", i)))
	}
	cancel()
	a.tellOver(context.Background(), s.over(later, true))
	if n := standFor(h.all()); n != 7*maxStorms {
		t.Errorf("the records stand for %d events, want %d", n, 7*maxStorms)
	}
	if len(s.kinds) != 0 || s.due.Load() != 0 {
		t.Errorf("%d kinds are left", len(s.kinds))
	}
}

// SLOG-02: from many goroutines, at random times, each event is written or counted once, and the records are bounded.
func TestNoEventOfAStormIsLost(t *testing.T) {
	bus, h := events.NewBus(), &recorder{min: slog.LevelWarn}
	p := newPipeline(bus)
	const publishers, each, periods = 8, 2000, 5
	detach := MustAttach(bus, Config{Handler: h, Burst: 3, Period: time.Second})
	var all sync.WaitGroup
	for seed := range uint64(publishers) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			for i := range each {
				at := start.Add(time.Duration(i)*periods*time.Second/each + time.Duration(random.IntN(1000))*time.Microsecond)
				stormOf(bus, p.retry, 1, at, errDown)
			}
		})
	}
	all.Wait()
	detach()
	if n := standFor(h.all()); n != publishers*each {
		t.Errorf("the records stand for %d events, want %d", n, publishers*each)
	}
	// Publishers are not in step: each may open a period of its own once the one before is over.
	if n := len(h.all()); n > publishers*(periods+1)*4 {
		t.Errorf("%d records", n)
	}
}

// BUS-05: a handler that panics, or ends the goroutine, in a summary harms neither who detaches nor the other summaries.
func TestAPanicInASummaryIsNotTheCallers(t *testing.T) {
	for name, do := range map[string]func(){"panic": func() { panic("disk") }, "Goexit": runtime.Goexit} {
		bus, h := events.NewBus(), &recorder{min: slog.LevelWarn}
		h.do = func(_ context.Context, r slog.Record) error {
			if _, summary := attrsOf(r)[KeyStandsFor]; summary {
				do()
			}
			return nil
		}
		p := newPipeline(bus)
		detach := MustAttach(bus, Config{Handler: h, Burst: 1})
		stormOf(bus, p.retry, 5, start, errDown)
		stormOf(bus, p.breaker, 5, start, errDown)
		var done sync.WaitGroup
		done.Go(detach)
		done.Wait()
		if n := standFor(h.all()); n != 10 {
			t.Errorf("%s: the records stand for %d events, want 10", name, n)
		}
		if n := bus.HandlerPanics(); name == "panic" && n != 2 {
			t.Errorf("%d panics counted, want 2", n)
		}
	}
}

// A handler's error is counted against slogres: the record is lost.
func TestErrorsOfTheHandlerAreCounted(t *testing.T) {
	for _, buffered := range []int{0, 100} {
		bus, h := events.NewBus(), &recorder{min: slog.LevelWarn}
		h.do = func(context.Context, slog.Record) error { return errors.New("disk full") }
		p := newPipeline(bus)
		detach := MustAttach(bus, Config{Handler: h, Burst: 2, Buffered: buffered})
		stormOf(bus, p.retry, 5, start, errDown)
		detach()
		if n := bus.Subscriber().Dropped(); n != 3 { // two records, and what stands for the other three
			t.Errorf("buffered %d: %d records counted as lost, want 3", buffered, n)
		}
	}
}

// BUS-10: what is withheld does not hold the pipeline.
func TestWhatIsWithheldDoesNotKeepThePipeline(t *testing.T) {
	bus, h := events.NewBus(), &recorder{min: slog.LevelWarn}
	defer MustAttach(bus, Config{Handler: h, Burst: 1})()
	func() { stormOf(bus, newPipeline(bus).retry, 5, start, errDown) }()
	for range 1000 {
		runtime.GC()
		if len(bus.Sources()) == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Error("the sources are still there after 1000 collections")
}

// SLOG-01, SLOG-02: every kind of handler shows how many events a record stands for.
func TestEveryHandlerWritesWhatARecordStandsFor(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		"text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		"default": func(b *bytes.Buffer) slog.Handler {
			slog.SetDefault(slog.New(slog.NewTextHandler(b, nil)))
			return nil
		},
	} {
		var out bytes.Buffer
		bus := events.NewBus()
		detach := MustAttach(bus, Config{Handler: handler(&out)})
		stormOf(bus, newPipeline(bus).retry, 40, start, errDown)
		detach()
		last := out.String()[strings.LastIndex(strings.TrimSpace(out.String()), "\n")+1:]
		if n := strings.Count(out.String(), "\n"); n != 11 || !strings.Contains(last, "30") || !strings.Contains(last, "stands_for") ||
			strings.Contains(out.String(), "4711") {
			t.Errorf("%s: %d lines, the last %s", name, n, last)
		}
	}
}
