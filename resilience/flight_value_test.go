package resilience_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// held is a caller's own wrapper around a value that others have, too.
type held struct {
	*stream
	release func(error)
}

// SFL-01, PIPE-27: the last release of a value that several callers have is the value's.
func TestASharedValueIsReleasedByTheLastOfItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			room, outside, gate := roomFor(1), &counting{}, &counting{}
			p := resilience.MustPipeline(resilience.PipelineConfig[held]{Name: "held", Bus: events.Off(),
				Layers: []resilience.Layer{outside, joined(), room, gate},
				Hold:   func(v held, h resilience.Held) held { return held{v.stream, h.Release} }})
			var mu sync.Mutex
			var got []held
			for range 3 {
				go func() {
					v, err := p.DoKey(ctx, "a", func(ctx context.Context) (held, error) {
						time.Sleep(time.Second)
						return held{stream: &stream{ctx: ctx}}, nil
					})
					mu.Lock()
					defer mu.Unlock()
					if got = append(got, v); err != nil {
						t.Error(err)
					}
				}()
			}
			later(2 * time.Second)
			synctest.Wait()
			for i, v := range got {
				if v.stream != got[0].stream || room.Snapshot().Usage != 1 || v.ctx.Err() != nil || outside.outstanding != 3-i || gate.outstanding != 1 {
					t.Errorf("%s: before release %d: %v, context %v, %d outside", what, i, room, v.ctx.Err(), outside.outstanding)
				}
				if i == 1 {
					v.release(errBoom)
				}
				v.release(nil)
				v.release(nil)
			}
			if room.Snapshot().Usage != 0 || got[0].ctx.Err() == nil || outside.outstanding != 0 || len(gate.outcomes) != 1 || gate.outcomes[0].Err != errBoom {
				t.Errorf("%s: after the last: %v, context %v, the gate learned %+v", what, room, got[0].ctx.Err(), gate.outcomes)
			}
		}
	})
}

// SFL-02, PIPE-27: what comes when all have left is nobody's.
func TestAValueThatNobodyWaitsForIsDiscardedAndReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := roomFor(1)
		p := streams(nil, joined(), room)
		var late *stream
		ctx, cancel := context.WithCancel(t.Context())
		go p.DoKey(ctx, "a", func(ctx context.Context) (*stream, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			late = &stream{ctx: ctx}
			return late, nil
		})
		synctest.Wait()
		cancel()
		later(time.Minute)
		if late == nil || !late.dropped || late.release != nil || room.Snapshot().Usage != 0 {
			t.Errorf("%+v, %v", late, room)
		}
	})
}

// SFL-01, RET-14: a Retry outside supersedes what others still have.
func TestASharedValueIsDiscardedOnceAndByTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			for _, giveUp := range []bool{false, true} {
				var discarded []int
				var mu sync.Mutex
				var runs atomic.Int64
				one := resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(time.Second)}
				one.OnRetry = func(ctx context.Context, _ resilience.FailedAttempt) bool { return ctx.Value(nameKey{}) == nil }
				p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.Off(),
					Classify: func(int, error) error { return errStatus },
					Discard:  func(v int) error { mu.Lock(); defer mu.Unlock(); discarded = append(discarded, v); return nil },
					Layers:   []resilience.Layer{one, joined()}})
				op := func(context.Context) (int, error) { time.Sleep(time.Second); return int(runs.Add(1)), nil }
				answers := burst(p, ctx, "a", 3, op)
				if giveUp { // and hands the first value to its caller
					answers = append(answers, burst(p, context.WithValue(ctx, nameKey{}, "gives up"), "a", 1, op)...)
				}
				later(time.Minute)
				for i, a := range answers {
					if want := 2 - i/3; a.v != want || a.err != nil {
						t.Errorf("%s: caller %d got %+v, want %d", what, i, a, want)
					}
				}
				if want := map[bool]int{false: 1, true: 0}[giveUp]; len(discarded) != want || runs.Load() != 2 {
					t.Errorf("%s, one gives up: %t: discarded %v, want %d; %d runs", what, giveUp, discarded, want, runs.Load())
				}
			}
		}
	})
}

// SFL-01, FBK-03
func TestAFallbackOutsideReplacesASharedValueAndTheLastDiscardsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			var discarded atomic.Int64
			p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.Off(),
				Classify: func(int, error) error { return errStatus },
				Discard:  func(int) error { discarded.Add(1); return nil },
				Layers:   []resilience.Layer{resilience.FallbackValue(7), joined()}})
			answers := burst(p, ctx, "a", 3, (&slow{value: 3}).run)
			later(time.Minute)
			for _, a := range answers {
				if a.v != 7 || a.err != nil || discarded.Load() != 1 {
					t.Errorf("%s: %+v, discarded %d times", what, a, discarded.Load())
				}
			}
		}
	})
}

// PIPE-13, PIPE-27: a handler ends a caller's goroutine when the flight has landed: its part of the value is let go.
func TestAPartThatNobodyTakesIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus, room := events.NewBus(), roomFor(1)
		bus.FlightJoined.Subscribe(func(context.Context, events.FlightJoined) { time.Sleep(time.Minute); runtime.Goexit() })
		dropped := 0
		p := streams(func(cfg *resilience.PipelineConfig[*stream]) {
			cfg.Bus, cfg.Discard = bus, func(*stream) error { dropped++; return nil }
		}, joined(), room)
		for range 3 {
			go p.DoKey(t.Context(), "a", func(ctx context.Context) (*stream, error) { time.Sleep(time.Second); return openStream(ctx) })
		}
		later(time.Hour)
		if room.Snapshot().Usage != 0 || dropped != 1 {
			t.Errorf("%v, dropped %d times", room, dropped)
		}
	})
}

// SFL-02, BRK-19, TMO-01: the expiry of a Timeout outside is a failure for the layers inside, as without the flight.
func TestTheExpiryOfATimeoutOutsideReachesTheBreakerInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
		for who, outside := range map[string]context.Context{"timeout": t.Context(), "caller": nil} {
			db, gate := quietBreaker("db"), &counting{}
			p := ints(events.Off(), resilience.Timeout{After: time.Second}, joined(), db, gate)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			if outside != nil {
				ctx = outside
			}
			answers := burst(p, ctx, "a", 3, hang)
			later(time.Minute)
			cancel()
			want, kind, failures := resilience.ErrTimeout, resilience.Failed, int64(1)
			if who == "caller" {
				want, kind, failures = context.DeadlineExceeded, resilience.Canceled, 0
			}
			for _, a := range answers {
				if !errors.Is(a.err, want) {
					t.Errorf("%s: %v", who, a.err)
				}
			}
			if db.Snapshot().Failures != failures || gate.outcomes[0].Kind != kind {
				t.Errorf("%s: %d failures counted, the gate learned %+v", who, db.Snapshot().Failures, gate.outcomes)
			}
		}
	})
}

// SFL-01, PIPE-27: two flights share the flight inside of them, and so its value: one that is done with it does not
// discard it while the other's callers have it.
func TestAValueThatTwoFlightsShareIsDiscardedByTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, ctx := range callers(t) {
			for _, refusing := range [][]string{{}, {"a"}, {"b"}, {"a", "b"}} {
				var discarded atomic.Int64
				p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.NewBus(),
					Layers: []resilience.Layer{
						resilience.Around("refuses", func(ctx context.Context, next func(context.Context) error) error {
							err := next(ctx)
							if key, _ := ctx.Value(nameKey{}).(string); slices.Contains(refusing, key) {
								return errBoom
							}
							return err
						}),
						joined(), resilience.MustSingleflight(resilience.SingleflightConfig{Name: "one", Key: func(context.Context) string { return "all" }}),
					},
					Discard: func(int) error { discarded.Add(1); return nil }})
				for _, key := range []string{"a", "b"} {
					burst(p, context.WithValue(ctx, nameKey{}, key), key, 2, (&slow{value: 3}).run)
				}
				later(time.Minute)
				if want := int64(len(refusing) / 2); discarded.Load() != want {
					t.Errorf("%s, %q refuse: discarded %d times, want %d", what, refusing, discarded.Load(), want)
				}
			}
		}
	})
}
