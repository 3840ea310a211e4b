package slogres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/slogres"
)

// lines is a handler that keeps the level, the time since it was made and the message of each record.
type lines struct {
	begun time.Time
	min   slog.Level
	ship  func(context.Context) // called for each record; nil: nothing

	mu  sync.Mutex
	got []string
}

func newLines(min slog.Level) *lines { return &lines{begun: time.Now(), min: min} }

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.min }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *lines) WithGroup(string) slog.Handler                    { return l }

func (l *lines) Handle(ctx context.Context, r slog.Record) error {
	l.mu.Lock()
	l.got = append(l.got, fmt.Sprintf("%v %v %s", r.Time.Sub(l.begun), r.Level, r.Message))
	l.mu.Unlock()
	if l.ship != nil {
		l.ship(ctx)
	}
	return nil
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.got)
}

var errRefused = errors.New("refused")

func fail(context.Context) error { time.Sleep(10 * time.Millisecond); return errRefused }
func pass(context.Context) error { time.Sleep(10 * time.Millisecond); return nil }
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func newUsers(bus *events.Bus) *resilience.Pipeline[struct{}] {
	return resilience.MustPipeline(resilience.PipelineConfig[struct{}]{
		Name: "users.get",
		Layers: []resilience.Layer{
			resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(90 * time.Millisecond)},
			resilience.MustBreaker(resilience.BreakerConfig{Name: "payments-db", ConsecutiveFailures: 3, Cooldown: time.Second, Bus: bus}),
			resilience.Timeout{After: 500 * time.Millisecond},
		},
		Bus: bus,
	})
}

// SLOG-01
func TestTheRecordsOfARealIncident(t *testing.T) {
	for _, buffered := range []int{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			bus, h := events.NewBus(), newLines(slog.LevelDebug)
			users, ctx := newUsers(bus), context.Background()
			detach := slogres.MustAttach(bus, slogres.Config{Handler: h, Buffered: buffered})

			n := 0
			_ = users.Run(ctx, func(ctx context.Context) error { // 0 ms: mended
				if n++; n == 1 {
					return fail(ctx)
				}
				return pass(ctx)
			})
			_ = users.Run(ctx, fail) // 110 ms
			_ = users.Run(ctx, hang) // 220 ms: its first attempt is the third failure in a row
			time.Sleep(time.Second)
			_ = users.Run(ctx, pass)
			detach()
			_ = users.Run(ctx, fail)

			want := []string{
				"0s DEBUG shared layer added",
				"0s DEBUG pipeline added",
				"10ms DEBUG attempt failed",
				"10ms DEBUG retry scheduled",
				"110ms DEBUG attempt succeeded",
				"110ms DEBUG call succeeded",
				"120ms DEBUG attempt failed",
				"120ms DEBUG retry scheduled",
				"220ms DEBUG attempt failed",
				"220ms DEBUG retry stopped",
				"220ms WARN call failed",
				"720ms DEBUG attempt timed out",
				"720ms WARN timeout expired",
				"720ms WARN circuit breaker opened",
				"720ms DEBUG retry scheduled",
				"810ms DEBUG call rejected by a layer",
				"810ms DEBUG retry stopped",
				"810ms WARN call failed: rejected",
				"1.81s INFO circuit breaker half-open",
				"1.82s DEBUG attempt succeeded",
				"1.82s INFO circuit breaker closed",
				"1.82s DEBUG call succeeded",
			}
			if got := h.all(); !slices.Equal(got, want) {
				t.Errorf("buffered %d: got\n%s\nwant\n%s", buffered, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// SLOG-01
func TestOneWarningAFailedCallUnderLoad(t *testing.T) {
	bus, h := events.NewBus(), newLines(slog.LevelWarn)
	users := resilience.MustPipeline(resilience.PipelineConfig[struct{}]{
		Name: "users.get", Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}}, Bus: bus})
	defer slogres.MustAttach(bus, slogres.Config{Handler: h, Burst: -1})()
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			_ = users.Run(context.Background(), func(ctx context.Context) error {
				if i%2 == 0 && resilience.AttemptNumber(ctx) == 3 {
					return nil
				}
				return errRefused
			})
		})
	}
	calls.Wait()
	if n := len(h.all()); n != 50 {
		t.Errorf("%d records of 50 failed calls", n)
	}
}

// BUS-11
func TestAHandlerThatShipsThroughAPipelineOfTheSameBusDoesNotFeedItself(t *testing.T) {
	for _, buffered := range []int{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			bus, h := events.NewBus(), newLines(slog.LevelDebug)
			shipping, shipped := newUsers(bus), 0
			h.ship = func(ctx context.Context) {
				shipped++
				_ = shipping.Run(ctx, fail) // its breaker opens meanwhile
			}
			users := newUsers(bus)
			detach := slogres.MustAttach(bus, slogres.Config{Handler: h, Buffered: buffered, FlushTimeout: time.Minute,
				Skip: func(e events.Event) bool {
					return e.EventName() == "source.added" || e.EventName() == "config.warning" || slogres.SkipStarts(e) // two of one name
				}})
			_ = users.Run(context.Background(), fail)
			detach()
			if got := h.all(); len(got) != 5 || shipped != 5 {
				t.Errorf("buffered %d: shipped %d, got\n%s", buffered, shipped, strings.Join(got, "\n"))
			}
		})
	}
}

// PIPE-13, BUS-05
func TestAPanickingHandlerDoesNotChangeTheResult(t *testing.T) {
	bus, h := events.NewBus(), newLines(slog.LevelDebug)
	h.ship = func(context.Context) { panic("disk") }
	defer slogres.MustAttach(bus, slogres.Config{Handler: h})()
	users := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "users.get", Bus: bus})
	if v, err := users.Do(context.Background(), func(context.Context) (int, error) { return 7, nil }); v != 7 || err != nil {
		t.Errorf("got %v, %v", v, err)
	}
	if _, err := users.Do(context.Background(), func(context.Context) (int, error) { return 0, errRefused }); !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
	if bus.HandlerPanics() == 0 {
		t.Error("no panic counted")
	}
}
