package slogres

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
)

// BUS-06
func TestABufferedHandlerDelaysNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, h := events.NewBus(), &recorder{min: slog.LevelWarn}
		h.do = func(context.Context, slog.Record) error {
			time.Sleep(800 * time.Millisecond)
			return nil
		}
		p := newPipeline(bus)
		detach := MustAttach(bus, Config{Handler: h, Buffered: 100})
		begun := time.Now()
		for range 10 {
			p.failed(context.Background())
		}
		if d := time.Since(begun); d != 0 {
			t.Errorf("the calls took %v", d)
		}
		detach()
		if d := time.Since(begun); d != 5*time.Second {
			t.Errorf("detach took %v, want the default limit", d)
		}
		time.Sleep(time.Second) // the seventh record was being written
		if n, dropped := len(h.all()), bus.Dropped(); n != 7 || dropped != 3 {
			t.Errorf("%d records, %d dropped", n, dropped)
		}
	})
}

// BUS-06
func TestDetachWritesWhatIsBuffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, h := events.NewBus(), debugRecorder()
		h.do = func(context.Context, slog.Record) error {
			time.Sleep(time.Second)
			return nil
		}
		p := newPipeline(bus)
		detach := MustAttach(bus, Config{Handler: h, Buffered: 100, FlushTimeout: time.Minute})
		p.failed(context.Background())
		begun := time.Now()
		detach()
		if n, d := len(h.all()), time.Since(begun); n != 7 || d != 7*time.Second {
			t.Errorf("%d records in %v", n, d)
		}
		detach()
		p.failed(context.Background())
		synctest.Wait()
		if n := len(h.all()); n != 7 || bus.Dropped() != 0 {
			t.Errorf("%d records, %d dropped", n, bus.Dropped())
		}
	})
}

func TestWhatIsNotWrittenWhenDetachGivesUpIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, h := events.NewBus(), debugRecorder()
		hang := make(chan struct{})
		h.do = func(context.Context, slog.Record) error { <-hang; return nil }
		detach := MustAttach(bus, Config{Handler: h, Buffered: 100, FlushTimeout: 3 * time.Second})
		newPipeline(bus).failed(context.Background())
		begun := time.Now()
		detach()
		if d := time.Since(begun); d != 3*time.Second {
			t.Errorf("detach took %v", d)
		}
		close(hang)
		synctest.Wait()
		if n, dropped := len(h.all()), bus.Dropped(); n != 1 || dropped != 6 {
			t.Errorf("%d records, %d dropped", n, dropped)
		}
	})
}

// BUS-06
func TestAFullBufferDropsAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, h := events.NewBus(), &recorder{min: slog.LevelWarn}
		hang := make(chan struct{})
		h.do = func(context.Context, slog.Record) error { <-hang; return nil }
		detach := MustAttach(bus, Config{Handler: h, Buffered: 2})
		p := newPipeline(bus)
		p.failed(context.Background())
		synctest.Wait() // its one warning is being written
		for range 5 {
			p.failed(context.Background()) // what is below WARN takes no room
		}
		close(hang)
		detach()
		if n, dropped := len(h.all()), bus.Dropped(); n != 3 || dropped != 3 {
			t.Errorf("%d records, %d dropped", n, dropped)
		}
	})
}

// BUS-05, BUS-06
func TestABufferedHandlerMayPanicAndExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, h := events.NewBus(), debugRecorder()
		p := newPipeline(bus)
		n := 0
		h.do = func(context.Context, slog.Record) error {
			switch n++; n {
			case 1:
				time.Sleep(time.Millisecond) // until the call is over: a panic is told at once, so among what comes later
			case 3:
				panic("disk")
			case 4:
				runtime.Goexit()
			}
			return errors.New("not written")
		}
		detach := MustAttach(bus, Config{Handler: h, Buffered: 100})
		p.failed(context.Background())
		time.Sleep(time.Second) // all is written
		detach()
		want := []string{"shared layer added", "pipeline added", "attempt failed", "retry scheduled", "attempt failed",
			"retry stopped", "call failed", "event handler panicked"}
		if got := h.messages(); !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if n := bus.HandlerPanics(); n != 1 {
			t.Errorf("the bus counted %d panics", n)
		}
		if a := attrsOf(h.of("handler.panicked")[0]); a[events.KeyHandledEvent] != "attempt.finished" {
			t.Errorf("it names %v", a[events.KeyHandledEvent])
		}
	})
}

func TestABufferedHandlerThatAlwaysPanicsDoesNotLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, h := events.NewBus(), &recorder{min: slog.LevelWarn}
		h.do = func(context.Context, slog.Record) error { panic("disk") }
		detach := MustAttach(bus, Config{Handler: h, Buffered: 100})
		newPipeline(bus).failed(context.Background())
		synctest.Wait()
		detach()
		if got, want := h.messages(), []string{"call failed", "event handler panicked"}; !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	})
}

// BUS-06
func TestABufferedHandlersContextHasValuesAndIsNeverDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, h := events.NewBus(), &recorder{min: slog.LevelWarn}
		attachSpans(bus)
		detach := MustAttach(bus, Config{Handler: h, Buffered: 100, Trace: traceOf})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		newPipeline(bus).failed(ctx)
		detach()
		got := h.ctxs[0]
		if got.Err() != nil || spanOf(got) != "execution 1" || attrsOf(h.all()[0])[KeySpanID] != "execution 1" {
			t.Errorf("err %v, span %q, record %v", got.Err(), spanOf(got), attrsOf(h.all()[0]))
		}
	})
}

// BUS-04
func TestAHandlerMayDetachItself(t *testing.T) {
	for _, buffered := range []int{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			bus, h := events.NewBus(), &recorder{min: slog.LevelWarn}
			var detach func()
			h.do = func(context.Context, slog.Record) error { detach(); return nil }
			detach = MustAttach(bus, Config{Handler: h, Buffered: buffered})
			p := newPipeline(bus)
			for range 3 {
				p.failed(context.Background())
			}
			synctest.Wait()
			detach()
			time.Sleep(defaultFlushTimeout) // a buffered handler has waited for itself
			synctest.Wait()
			if n := len(h.all()); n != 1 {
				t.Errorf("buffered %d: %d records", buffered, n)
			}
		})
	}
}
