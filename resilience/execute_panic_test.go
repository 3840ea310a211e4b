package resilience_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// survive runs f on a goroutine of its own and returns what it panicked with, and whether it returned.
func survive(f func()) (panicked any, returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		f()
		returned = true
	}()
	<-done
	return panicked, returned
}

// PIPE-13
func TestAPanicOfTheOperationReachesTheCallerWithItsValue(t *testing.T) {
	for _, value := range []any{errBoom, "text", 7} {
		for _, bus := range []*events.Bus{events.Off(), events.NewBus()} {
			tape := record(bus)
			gate, p := &counting{}, ints(bus, everyLayer()...)
			q := ints(bus, gate, resilience.Retry{Backoff: resilience.NoDelay})
			for _, p := range []*resilience.Pipeline[int]{p, q} {
				if got, returned := survive(func() { p.Run(t.Context(), func(context.Context) error { panic(value) }) }); got != value || returned {
					t.Errorf("panicked with %v, want %v", got, value)
				}
			}
			if len(gate.outcomes) != 1 || gate.outcomes[0].Kind != resilience.NotReturned {
				t.Errorf("the gate learned %+v", gate.outcomes)
			}
			for _, e := range heard[events.ExecutionFinished](tape) {
				if e.Outcome != events.OutcomeFailure || events.ErrorType(e.Err) != "not_returned" || e.Attempts != 1 {
					t.Errorf("finished %+v", e)
				}
			}
		}
	}
}

// PIPE-13, RET-04
func TestARecoveredPanicIsAnErrorWithItsStackAndIsNotRetried(t *testing.T) {
	asked := false
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{
		Name: "p", Bus: events.Off(), RecoverPanics: true, Layers: everyLayer(),
		Classify: func(_ int, err error) error { asked = true; return nil },
	})
	runs := 0
	_, err := p.Do(t.Context(), func(context.Context) (int, error) { runs++; panic(errBoom) })
	var panicked *resilience.PanicError
	if !errors.As(err, &panicked) || panicked.Value != errBoom || !errors.Is(err, errBoom) || runs != 1 || asked {
		t.Errorf("got %v after %d runs, Classify asked: %t", err, runs, asked)
	}
	if !strings.Contains(string(panicked.Stack), "TestARecoveredPanic") {
		t.Errorf("the stack does not show the operation:\n%s", panicked.Stack)
	}
	if _, returned := survive(func() { p.Run(t.Context(), func(context.Context) error { runtime.Goexit(); return nil }) }); returned {
		t.Error("Goexit did not end the goroutine")
	}
}

// site is a function of the user's that misbehaves once.
type site struct {
	name      string
	misbehave func()
	reached   atomic.Bool
}

func (s *site) at(name string) {
	if name == s.name && s.reached.CompareAndSwap(false, true) {
		s.misbehave()
	}
}

// sites are all functions of the user's in the world that newWorld makes.
var sites = []string{
	"operation", "Classify", "If", "Discard", "Retry.If", "Retry.OnRetry", "Retry.Delay", "Retry.Backoff", "Retry.Rand", "FailureIf", "CooldownFunc",
	"Admit", "Settle", "around", "around behind", "typed", "typed behind", "Hold",
	"execution.started", "execution.finished", "attempt.started", "attempt.finished",
	"retry.scheduled", "retry.stopped", "call.rejected", "timeout.fired", "result.late", "circuit_breaker.state_changed",
	"discard.failed", "callback.panicked", "handler.panicked",
}

// world is a pipeline that has everything, and calls through it that have every function of the user's called.
type world struct {
	site *site
	p    *resilience.Pipeline[*reply]
	db   *resilience.Breaker
	room *resilience.Bulkhead
	gate *lenient
}

// lenient is a counting gate that misbehaves.
type lenient struct {
	counting
	site *site
}

func (l *lenient) Admit(ctx context.Context, call resilience.Call) (resilience.Permit, error) {
	l.site.at("Admit")
	return l.counting.Admit(ctx, call)
}

func (l *lenient) Settle(ctx context.Context, c resilience.Call, p resilience.Permit, o resilience.Outcome) {
	l.counting.Settle(ctx, c, p, o)
	l.site.at("Settle")
}

func newWorld(s *site, held bool) *world {
	bus := events.NewBus()
	bus.Subscribe(func(_ context.Context, e events.Event) { s.at(e.EventName()) })
	bus.RetryStopped.Subscribe(func(context.Context, events.RetryStopped) { panic("always") })
	w := &world{site: s, gate: &lenient{site: s},
		db: resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 3, Cooldown: time.Minute, Bus: bus,
			FailureIf: func(error) bool { s.at("FailureIf"); return true },
			CooldownFunc: func(opening int) time.Duration {
				if opening > 1 { // not while the breaker is made
					s.at("CooldownFunc")
				}
				return time.Minute
			}}),
		room: resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 1, MaxQueue: 1, Bus: bus}),
	}
	cfg := resilience.PipelineConfig[*reply]{Name: "world", Bus: bus,
		Classify:  func(r *reply, err error) error { s.at("Classify"); return judge(r, err) },
		FailureIf: func(error) bool { s.at("If"); return true },
		Discard:   func(*reply) error { s.at("Discard"); return errBoom },
		Layers: []resilience.Layer{
			w.gate, w.room,
			resilience.Retry{Jitter: resilience.JitterEqual,
				Backoff: resilience.BackoffFunc(func(int, time.Duration) time.Duration { s.at("Retry.Backoff"); return time.Second }),
				If:      func(error) bool { s.at("Retry.If"); return true },
				OnRetry: func(context.Context, resilience.FailedAttempt) bool { s.at("Retry.OnRetry"); panic("always") },
				Delay:   func(resilience.FailedAttempt) time.Duration { s.at("Retry.Delay"); return resilience.KeepDelay },
				Rand:    func() float64 { s.at("Retry.Rand"); return 0.5 }},
			w.db,
			resilience.Around("around", func(ctx context.Context, next func(context.Context) error) error {
				s.at("around")
				err := next(ctx)
				s.at("around behind")
				return err
			}),
			typed[*reply](func(next resilience.Next[*reply]) resilience.Next[*reply] {
				return func(ctx context.Context, call resilience.Call, op resilience.Operation[*reply]) (*reply, error) {
					s.at("typed")
					v, err := next(ctx, call, op)
					s.at("typed behind")
					return v, err
				}
			}),
			resilience.Timeout{After: time.Second},
		}}
	if held {
		cfg.Hold = func(r *reply, held resilience.Held) *reply {
			s.at("Hold")
			defer held.Release(nil)
			return r
		}
	}
	w.p = resilience.MustPipeline(cfg)
	return w
}

// do runs a call whose attempts end as told, on a goroutine of its own, for a function of the user's may end it.
func (w *world) do(ctx context.Context, attempts ...func(context.Context) (*reply, error)) (err error) {
	err = errBoom
	run := 0
	survive(func() {
		_, err = w.p.Do(ctx, func(ctx context.Context) (*reply, error) {
			w.site.at("operation")
			run = min(run+1, len(attempts))
			return attempts[run-1](ctx)
		})
	})
	return err
}

// live makes calls of every sort, the waits of all of them included.
func (w *world) live(ctx context.Context) {
	good, bad, broken := returns(&reply{status: 200}, nil), returns(&reply{status: 503}, nil), returns[*reply](nil, errBoom)
	late := func(ctx context.Context) (*reply, error) {
		time.Sleep(2 * time.Second)
		return &reply{status: 200}, nil
	}
	hang := func(ctx context.Context) (*reply, error) { <-ctx.Done(); return nil, ctx.Err() }
	w.do(ctx, bad, broken, good)
	w.do(ctx, hang, late)
	done := make(chan struct{})
	go func() { defer close(done); w.do(ctx, late) }()
	synctest.Wait()
	w.do(ctx, good) // in the queue
	<-done
	w.do(ctx, broken) // opens the breaker
	w.do(ctx, good)   // is refused
}

// PIPE-13, PITFALLS 4 and 27
func TestWhateverPanicsOrEndsTheGoroutineEverythingComesBack(t *testing.T) {
	for how, misbehave := range map[string]func(){"panic": func() { panic("misbehaved") }, "goexit": runtime.Goexit} {
		for _, name := range sites {
			for _, held := range []bool{false, true} {
				if name == "Hold" && !held || name == "result.late" && held { // a held value that comes late is dead
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(&site{name: name, misbehave: misbehave}, held)
					w.live(t.Context())
					if !w.site.reached.Load() {
						t.Errorf("%s in %s (held: %t): never reached", how, name, held)
					}
					if room := w.room.Snapshot(); w.gate.outstanding != 0 || room.Usage != 0 || room.Queued != 0 {
						t.Errorf("%s in %s (held: %t): %d permits and %+v are left behind", how, name, held, w.gate.outstanding, room)
					}
					time.Sleep(time.Hour)
					if err := w.do(t.Context(), returns(&reply{status: 200}, nil)); err != nil || w.db.State() != events.StateClosed {
						t.Errorf("%s in %s (held: %t): the next call: %v, the breaker is %v", how, name, held, err, w.db.State())
					}
				})
			}
		}
	}
}
