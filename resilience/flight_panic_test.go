package resilience_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// SFL-03, PIPE-13, PITFALL 29
func TestAPanicInAFlightReachesEveryCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			flights, room, gate := joined(), roomFor(1), &counting{}
			p := ints(events.Off(), flights, room, gate, resilience.Retry{})
			answers := burst(p, ctx, "a", 3, func(context.Context) (int, error) { time.Sleep(time.Second); panic(errBoom) })
			time.Sleep(time.Second)
			synctest.Wait()
			for _, a := range answers {
				pe, ok := a.panicked.(*resilience.PanicError)
				if !ok || a.returned || pe.Value != errBoom || !errors.Is(pe, errBoom) || !strings.Contains(string(pe.Stack), "TestAPanicInAFlight") {
					t.Errorf("%s: %+v", what, a)
				}
			}
			if flights.InFlight() != 0 || room.Snapshot().Usage != 0 || gate.outcomes[0].Kind != resilience.NotReturned {
				t.Errorf("%s: %v, %v, the gate learned %+v", what, flights, room, gate.outcomes)
			}
			if v, err := p.DoKey(ctx, "a", one); v != 1 || err != nil {
				t.Errorf("%s: the next call: %d, %v", what, v, err)
			}
		}
	})
}

// SFL-03: a panic that somebody further in has raised again is not wrapped once more.
func TestAPanicKeepsItsFirstStack(t *testing.T) {
	first := &resilience.PanicError{Value: "op", Stack: []byte("first")}
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			got, _ := survive(func() {
				ints(events.Off(), joined()).DoKey(ctx, "a", func(context.Context) (int, error) { panic(first) })
			})
			if pe, ok := got.(*resilience.PanicError); !ok || pe.Value != "op" || string(pe.Stack) != "first" || !pe.Raised || first.Raised {
				t.Errorf("%s: panicked with %#v", what, got)
			}
		}
	})
}

// SFL-03: with RecoverPanics it is an error of all.
func TestARecoveredPanicIsSharedAsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.Off(), RecoverPanics: true,
				Layers: []resilience.Layer{resilience.Retry{}, joined()}})
			answers := burst(p, ctx, "a", 3, func(context.Context) (int, error) { time.Sleep(time.Second); panic("op") })
			later(time.Minute)
			for _, a := range answers {
				if pe, ok := a.err.(*resilience.PanicError); !ok || pe.Value != "op" || a.panicked != nil {
					t.Errorf("%s: %+v", what, a)
				}
			}
		}
	})
}

// SFL-03, PIPE-13, PITFALL 29
func TestGoexitInAFlightIsAnErrorForWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			flights, outside, inside := joined(), &counting{}, &counting{}
			p := ints(events.Off(), outside, resilience.Retry{}, flights, inside)
			runs := 0
			answers := burst(p, ctx, "a", 3, func(context.Context) (int, error) {
				runs++
				time.Sleep(time.Second)
				runtime.Goexit()
				return 1, nil
			})
			later(time.Minute)
			for i, a := range answers {
				if i == 0 && what == "never ends" {
					if a.returned || a.panicked != nil {
						t.Errorf("the leader on its own goroutine: %+v", a)
					}
				} else if a.err != resilience.ErrGoexit || a.v != 0 {
					t.Errorf("%s: caller %d: %+v", what, i, a)
				}
			}
			if runs != 1 || flights.InFlight() != 0 || outside.outstanding != 0 || inside.outstanding != 0 || inside.outcomes[0].Kind != resilience.NotReturned {
				t.Errorf("%s: %d runs, %v, inside %+v", what, runs, flights, inside.outcomes)
			}
			for _, o := range outside.outcomes {
				if o.Kind != resilience.NotReturned {
					t.Errorf("%s: outside %+v", what, o)
				}
			}
			if v, err := p.DoKey(ctx, "a", one); v != 1 || err != nil {
				t.Errorf("%s: the next call: %d, %v", what, v, err)
			}
		}
	})
}

// PIPE-13: a handler of the layer's own event that ends or panics takes no flight along.
func TestAHandlerThatMisbehavesLeavesNoKeyBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			for _, role := range events.FlightRoles() {
				for how, misbehave := range map[string]func(){"panics": func() { panic("handler") }, "ends": runtime.Goexit} {
					bus := events.NewBus()
					bus.FlightJoined.Subscribe(func(_ context.Context, e events.FlightJoined) {
						if e.Role == role {
							time.Sleep(time.Millisecond) // the others join
							misbehave()
						}
					})
					flights, room := joined(), roomFor(1)
					p := ints(bus, flights, room)
					op := &slow{value: 3}
					answers := burst(p, ctx, "a", 3, op.run)
					later(time.Minute)
					synctest.Wait()
					lost := 0
					for i, a := range answers {
						switch {
						case !a.returned:
							lost++
						case a.v == 3 && a.err == nil:
						case a.err == resilience.ErrGoexit && what == "never ends" && i > 0: // the run has ended with its leader
						default:
							t.Errorf("context %s, the handler of %v %s: %+v", what, role, how, a)
						}
					}
					if want := map[string]int{"panics leader": 0, "panics follower": 0, "ends leader": 1, "ends follower": 2}[how+" "+role.String()]; lost != want {
						t.Errorf("context %s, the handler of %v %s: %d of %d did not return, want %d", what, role, how, lost, len(answers), want)
					}
					if flights.InFlight() != 0 || room.Snapshot().Usage != 0 {
						t.Errorf("context %s, the handler of %v %s: %v, %v", what, role, how, flights, room)
					}
					if err := p.Close(ctx); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
}
