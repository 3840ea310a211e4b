package slogres

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// SLOG-01, BUS-12
func TestOneRecordAnEventWithItsFieldsAndItsTime(t *testing.T) {
	bus, h := events.NewBus(), debugRecorder()
	p := newPipeline(bus)
	MustAttach(bus, Config{Handler: h, Skip: func(e events.Event) bool { return e.Header().Source != p.retry }})
	p.key = "user:4711"
	e := events.RetryScheduled{Meta: p.meta(p.retry, 1), Delay: 1500000000, Err: errDown}
	bus.RetryScheduled.Publish(context.Background(), e)

	records := h.all()
	if len(records) != 1 {
		t.Fatalf("got %d records, want 1: %v", len(records), h.messages())
	}
	r := records[0]
	if !r.Time.Equal(e.At) || r.Message != "retry scheduled" || r.Level != slog.LevelDebug || r.PC != 0 {
		t.Errorf("got %v %q %v, PC %d", r.Time, r.Message, r.Level, r.PC)
	}
	var got []events.Field
	r.Attrs(func(a slog.Attr) bool {
		got = append(got, events.Field{Key: a.Key, Value: a.Value.Any()})
		return true
	})
	if want := events.Fields(e); !slices.Equal(got, want) {
		t.Errorf("attributes\n got %v\nwant %v", got, want)
	}
}

// BUS-12
func TestKeysAndErrorTextAreWrittenOnlyWhenAskedFor(t *testing.T) {
	for _, asked := range []bool{false, true} {
		bus, h := events.NewBus(), debugRecorder()
		p := newPipeline(bus)
		p.key = "user:4711"
		detach := MustAttach(bus, Config{Handler: h, Keys: asked, ErrorText: asked})
		p.failed(context.Background())
		detach()

		a := attrsOf(h.of("execution.finished")[0])
		key, hasKey := a[KeyCallKey]
		text, hasText := a[KeyError]
		if hasKey != asked || hasText != asked {
			t.Errorf("asked %v: key %v, error text %v", asked, hasKey, hasText)
		}
		if asked && (key != p.key || text != errDown.Error()) {
			t.Errorf("got key %v and error %v", key, text)
		}
		if a[events.KeyErrorType] != events.ErrorType(errDown) {
			t.Errorf("error.type = %v", a[events.KeyErrorType])
		}
	}
}

func TestWhatAFunctionPanickedWithIsNeverWritten(t *testing.T) {
	bus := events.NewBus()
	var out bytes.Buffer
	MustAttach(bus, Config{Handler: slog.NewJSONHandler(&out, nil), ErrorText: true, Keys: true})
	bus.CallbackPanicked.Publish(context.Background(), events.CallbackPanicked{Callback: "Retry.If", Value: "user 4711"})
	bus.HandlerPanicked.Publish(context.Background(), events.HandlerPanicked{Event: "retry.scheduled", Value: errDown})
	if strings.Contains(out.String(), "4711") || strings.Count(out.String(), `"level":"ERROR"`) != 2 {
		t.Errorf("got %s", out.String())
	}
}

// SLOG-01
func TestNilHandlerIsSlogDefaultAtEachRecord(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	bus := events.NewBus()
	p := newPipeline(bus)
	detach := MustAttach(bus, Config{})
	defer detach()
	for range 2 {
		h := &recorder{min: slog.LevelWarn}
		slog.SetDefault(slog.New(h))
		p.failed(context.Background())
		if got := h.messages(); !slices.Equal(got, []string{"call failed"}) {
			t.Errorf("got %q", got)
		}
	}
}

func TestAttachRefusesWhatCannotBeMeant(t *testing.T) {
	bus, h := events.NewBus(), debugRecorder()
	for name, c := range map[string]struct {
		bus  *events.Bus
		cfg  Config
		want string
	}{
		"no bus":          {nil, Config{}, "nil bus"},
		"negative buffer": {bus, Config{Buffered: -1}, "Config.Buffered = -1"},
		"negative period": {bus, Config{Period: -1}, "Config.Period = -1ns"},
		"negative flush":  {bus, Config{FlushTimeout: -1}, "Config.FlushTimeout = -1ns"},
	} {
		detach, err := Attach(c.bus, c.cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) || detach != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if bus.CallsHeard() {
		t.Error("a refused Attach listens")
	}
	defer func() {
		if err, ok := recover().(error); !ok || !errors.Is(err, ErrAttached) {
			t.Errorf("MustAttach panicked with %v", err)
		}
	}()
	MustAttach(bus, Config{Handler: h})
	MustAttach(bus, Config{Handler: h})
}

func TestAttachToABusThatIsNoneLeavesNothing(t *testing.T) {
	bus, h := new(events.Bus), debugRecorder()
	for range 2 {
		func() {
			defer func() {
				if err, ok := recover().(error); ok && errors.Is(err, ErrAttached) {
					t.Error(err)
				}
			}()
			MustAttach(bus, Config{Handler: h})
			t.Error("no panic")
		}()
	}
	MustAttach(events.Off(), Config{Handler: h})()
}

// BUS-04
func TestDetachStopsAlsoWhatHasStarted(t *testing.T) {
	for _, buffered := range []int{0, 100} {
		bus, h := events.NewBus(), debugRecorder()
		p := newPipeline(bus)
		detach := MustAttach(bus, Config{Handler: h, Buffered: buffered})
		p.call(context.Background(), func(ctx context.Context) events.ExecutionFinished {
			p.attempt(ctx, 1, errDown)
			detach()
			detach()
			p.attempt(ctx, 2, errDown)
			return events.ExecutionFinished{Outcome: events.OutcomeFailure}
		})
		p.failed(context.Background())
		bus.Remove(p.source)
		if got := h.messages(); len(got) == 0 || got[len(got)-1] != "attempt failed" || len(h.of("attempt.finished")) != 1 {
			t.Errorf("buffered %d: got %q", buffered, got)
		}
		if bus.CallsHeard() {
			t.Error("it still listens")
		}
	}
}

// BUS-04
func TestAttachAndDetachUnderLoad(t *testing.T) {
	bus := events.NewBus()
	stop := make(chan struct{})
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			p := newPipeline(bus)
			for {
				select {
				case <-stop:
					return
				default:
					p.mended(context.Background())
					p.failed(context.Background())
					p.transition(context.Background(), 1, events.StateClosed, events.StateOpen, events.ReasonRatio)
				}
			}
		})
	}
	var attachers sync.WaitGroup
	for n := range 4 {
		attachers.Go(func() {
			for i := range 50 {
				h := debugRecorder()
				h.do = func(context.Context, slog.Record) error {
					if i%7 == 3 {
						panic("handler")
					}
					return nil
				}
				detach := MustAttach(bus, Config{Handler: h, Buffered: (n % 2) * 64})
				for range 2 {
					attachers.Go(detach)
				}
				detach()
			}
		})
	}
	attachers.Wait()
	close(stop)
	calls.Wait()
	if bus.CallsHeard() || bus.BreakerStateChanged.Heard() {
		t.Error("something still listens")
	}
}

// BUS-05
func TestAPanickingHandlerChangesNoCallAndDoesNotLoop(t *testing.T) {
	bus, h := events.NewBus(), debugRecorder()
	h.do = func(context.Context, slog.Record) error { panic("disk") }
	p := newPipeline(bus)
	MustAttach(bus, Config{Handler: h})
	before := bus.HandlerPanics()
	p.rejected(context.Background())
	// call.rejected and execution.finished panic, and so do their two handler.panicked.
	if n := bus.HandlerPanics() - before; n != 4 || len(h.of("handler.panicked")) < 2 {
		t.Errorf("%d panics, records %q", n, h.messages())
	}
}

// PIPE-13: Goexit in a handler ends the caller's goroutine; everything is still released.
func TestAHandlerThatEndsTheGoroutineLeavesTheOthersTheirEvents(t *testing.T) {
	bus, h := events.NewBus(), &recorder{min: slog.LevelWarn}
	ended := false
	h.do = func(context.Context, slog.Record) error {
		if !ended {
			ended = true
			runtime.Goexit()
		}
		return nil
	}
	p := newPipeline(bus)
	others := 0
	bus.Execution.Observe(func(context.Context, events.ExecutionStarted) (context.Context, func(events.ExecutionFinished)) {
		return nil, func(events.ExecutionFinished) { others++ }
	})
	MustAttach(bus, Config{Handler: h})
	var done sync.WaitGroup
	done.Go(func() { p.failed(context.Background()) })
	done.Wait()
	p.failed(context.Background())
	if others != 2 || len(h.all()) != 2 {
		t.Errorf("others saw %d ends, records %q", others, h.messages())
	}
}
