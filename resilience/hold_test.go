package resilience_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// stream is a value that lives on after the call: its context is the one that the operation got.
type stream struct {
	ctx     context.Context
	bad     bool
	release func(error)
	dropped bool
}

func (s *stream) Close() error { s.dropped = true; return nil }

// streams is a pipeline of values that live on.
func streams(change func(*resilience.PipelineConfig[*stream]), layers ...resilience.Layer) *resilience.Pipeline[*stream] {
	cfg := resilience.PipelineConfig[*stream]{Name: "streams", Layers: layers, Bus: events.Off(),
		Hold: func(s *stream, release resilience.Held) *stream { s.release = release.Release; return s },
		Classify: func(s *stream, err error) error {
			if err == errGone {
				return resilience.NoFailure
			}
			if s != nil && s.bad {
				return errStatus
			}
			return err
		}}
	if change != nil {
		change(&cfg)
	}
	return resilience.MustPipeline(cfg)
}

func openStream(ctx context.Context) (*stream, error)    { return &stream{ctx: ctx}, nil }
func openBadStream(ctx context.Context) (*stream, error) { return &stream{ctx: ctx, bad: true}, nil }

func roomFor(limit int) *resilience.Bulkhead {
	return resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: limit, Bus: events.Off()})
}

// PIPE-27, HTTP-12
func TestAHeldValueKeepsItsPermitsAndItsContextUntilItsRelease(t *testing.T) {
	for _, op := range []resilience.Operation[*stream]{openStream, openBadStream} {
		room := roomFor(1)
		s, err := streams(nil, room, resilience.Timeout{After: time.Minute}).Do(t.Context(), op)
		if err != nil || room.Snapshot().Usage != 1 || s.ctx.Err() != nil {
			t.Fatalf("%v, %+v, context %v; want the permit and the context kept", err, room.Snapshot(), s.ctx.Err())
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { s.release(nil) })
		}
		all.Wait()
		if room.Snapshot().Usage != 0 || s.ctx.Err() == nil {
			t.Errorf("after the release: %+v, context %v", room.Snapshot(), s.ctx.Err())
		}
	}
}

// PIPE-27
func TestAValueThatNothingWaitsForIsNotHeld(t *testing.T) {
	s, err := streams(nil, resilience.Retry{}).Do(t.Context(), openStream)
	if err != nil || s.release != nil {
		t.Errorf("%v, held: %t", err, s.release != nil)
	}
}

// PIPE-27
func TestTheOutcomeOfAHeldValueFallsAtItsRelease(t *testing.T) {
	for _, c := range []struct {
		early           bool
		release         error
		atReturn, after int64 // failures counted
	}{{false, nil, 0, 0}, {false, errBoom, 0, 1}, {true, errBoom, 0, 0}} {
		db, gate := quietBreaker("db"), &counting{}
		p := streams(func(cfg *resilience.PipelineConfig[*stream]) { cfg.JudgeOnReturn = c.early }, gate, db)
		s, _ := p.Do(t.Context(), openStream)
		if n := db.Snapshot().Failures; n != c.atReturn || gate.outstanding != 1 {
			t.Errorf("%+v: %d failures when the call returned, %d admitted", c, n, gate.outstanding)
		}
		s.release(c.release)
		s.release(errBoom)
		if n := db.Snapshot().Failures; n != c.after || gate.outstanding != 0 || len(gate.outcomes) != 1 || gate.outcomes[0].Err != c.release {
			t.Errorf("%+v: %d failures after the release, the gate learned %+v", c, n, gate.outcomes)
		}
	}
}

// PIPE-27
func TestAFailingHeldValueIsAFailureWhateverItsRelease(t *testing.T) {
	gate := &counting{}
	s, err := streams(nil, gate).Do(t.Context(), openBadStream)
	s.release(nil)
	if err != nil || gate.outcomes[0].Kind != resilience.Failed || gate.outcomes[0].Err != errStatus {
		t.Errorf("%v, the gate learned %+v", err, gate.outcomes)
	}
}

// PIPE-27
func TestWhatIsNoValueIsReleasedAtOnce(t *testing.T) {
	for what, op := range map[string]resilience.Operation[*stream]{
		"an error": returns[*stream](nil, errBoom), "an error that is a success": returns[*stream](nil, errGone),
		"a panic": func(context.Context) (*stream, error) { panic("op") },
	} {
		room, db, gate := roomFor(1), quietBreaker("db"), &counting{}
		survive(func() {
			streams(nil, gate, room, resilience.Retry{Backoff: resilience.NoDelay}, db, resilience.Timeout{}).Do(t.Context(), op)
		})
		if room.Snapshot().Usage != 0 || gate.outstanding != 0 {
			t.Errorf("%s: %+v, %d admitted", what, room.Snapshot(), gate.outstanding)
		}
	}
	for what, hold := range map[string]func(*stream, resilience.Held) *stream{
		"panics":              func(*stream, resilience.Held) *stream { panic("hold") },
		"releases and panics": func(_ *stream, h resilience.Held) *stream { h.Release(nil); panic("hold") },
		"releases":            func(s *stream, h resilience.Held) *stream { h.Release(nil); return s },
	} {
		room, gate := roomFor(2), &counting{}
		lease, _ := room.Acquire(t.Context()) // a permit too many that comes back is this one
		survive(func() {
			streams(func(cfg *resilience.PipelineConfig[*stream]) { cfg.Hold = hold }, gate, room).Do(t.Context(), openStream)
		})
		if room.Snapshot().Usage != 1 || gate.outstanding != 0 || gate.outcomes[0].Kind != resilience.Succeeded {
			t.Errorf("Hold %s: %+v, %d admitted, %+v", what, room.Snapshot(), gate.outstanding, gate.outcomes)
		}
		lease.Release(nil)
	}
}

// PIPE-27, HTTP-06
func TestAnAttemptsLimitEndsWithTheValueAndTheTotalGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := streams(nil, resilience.Timeout{Name: "total", After: time.Hour}, resilience.Retry{}, resilience.Timeout{After: time.Second})
		began := time.Now()
		s, err := p.Do(t.Context(), func(ctx context.Context) (*stream, error) {
			if d, ok := ctx.Deadline(); !ok || d.Sub(began) != time.Second {
				t.Errorf("the attempt's deadline is in %v", d.Sub(began))
			}
			time.Sleep(999 * time.Millisecond)
			return openStream(ctx)
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if d, ok := s.ctx.Deadline(); s.ctx.Err() != nil || !ok || d.Sub(began) != time.Hour {
			t.Errorf("a minute after: %v, deadline in %v", s.ctx.Err(), d.Sub(began))
		}
		<-s.ctx.Done()
		var timeout *resilience.TimeoutError
		if time.Since(began) != time.Hour || s.ctx.Err() != context.DeadlineExceeded || !errors.As(context.Cause(s.ctx), &timeout) || timeout.Layer != "total" {
			t.Errorf("it ended after %v by %v, %v", time.Since(began), s.ctx.Err(), context.Cause(s.ctx))
		}
		s.release(nil)
	})
}

// PIPE-27: no value is cut by an attempt's limit after the call has returned, however close they fall.
func TestAValueThatComesWithTheLimitIsAliveOrTimedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 200 {
			var got *stream
			p := streams(nil, resilience.Retry{MaxAttempts: 1}, resilience.Timeout{After: time.Second})
			s, err := p.Do(t.Context(), func(ctx context.Context) (*stream, error) {
				time.Sleep(time.Second)
				got, _ = openStream(ctx)
				return got, nil
			})
			synctest.Wait()
			switch {
			case err == nil && s.ctx.Err() != nil:
				t.Fatal("the call returned a value that was cut")
			case err != nil && (!errors.Is(err, resilience.ErrTimeout) || !got.dropped):
				t.Fatalf("%v, discarded: %t", err, got.dropped)
			case err == nil:
				s.release(nil)
			}
		}
	})
}

// PIPE-27: what is superseded lets go before the next attempt, whoever starts it.
func TestASupersededValueLetsGoBeforeTheNextAttempt(t *testing.T) {
	again := typed[*stream](func(next resilience.Next[*stream]) resilience.Next[*stream] {
		return func(ctx context.Context, call resilience.Call, op resilience.Operation[*stream]) (*stream, error) {
			next(ctx, call, op)
			return next(ctx, call, op)
		}
	})
	for what, layer := range map[string]resilience.Layer{
		"a retry": resilience.Retry{Backoff: resilience.NoDelay}, "around": twice(second), "a typed layer": again,
		"nested": typed[*stream](func(next resilience.Next[*stream]) resilience.Next[*stream] { return again.Wrap(again.Wrap(next)) }),
	} {
		outside, inside := roomFor(1), roomFor(1)
		var all []*stream
		p := streams(nil, outside, layer, inside, resilience.Timeout{After: time.Minute})
		s, err := p.Do(t.Context(), func(ctx context.Context) (*stream, error) {
			for _, s := range all {
				if s.ctx.Err() == nil {
					t.Errorf("%s: the context of a superseded value lives", what)
				}
			}
			all = append(all, &stream{ctx: ctx, bad: len(all) == 0})
			return all[len(all)-1], nil
		})
		if err != nil || s != all[len(all)-1] || len(all) < 2 || outside.Snapshot().Usage != 1 || inside.Snapshot().Usage != 1 {
			t.Fatalf("%s: %v, %v after %d runs; %+v, %+v", what, s, err, len(all), outside.Snapshot(), inside.Snapshot())
		}
		s.release(nil)
		if outside.Snapshot().Usage != 0 || inside.Snapshot().Usage != 0 || s.ctx.Err() == nil {
			t.Errorf("%s, after the release: %+v, %+v", what, outside.Snapshot(), inside.Snapshot())
		}
	}
}

// PIPE-13, PIPE-27: a predicate that is asked at the release may end its goroutine.
func TestAPredicateThatEndsTheReleasesGoroutineCostsNoPermit(t *testing.T) {
	gate, room := &counting{}, roomFor(1)
	s, err := streams(func(cfg *resilience.PipelineConfig[*stream]) {
		cfg.FailureIf = func(error) bool { runtime.Goexit(); return true }
	}, room, gate).Do(t.Context(), openStream)
	survive(func() { s.release(errBoom) })
	if err != nil || gate.outstanding != 0 || room.Snapshot().Usage != 0 {
		t.Errorf("%v; %d admitted, %+v", err, gate.outstanding, room.Snapshot())
	}
}

// again releases the value once more when it settles.
type again struct {
	counting
	release func(error)
}

func (a *again) Settle(ctx context.Context, c resilience.Call, p resilience.Permit, o resilience.Outcome) {
	a.release(nil)
	a.counting.Settle(ctx, c, p, o)
}

// PIPE-27: a gate that releases the value again when it settles does not wait for itself.
func TestReleaseWithinAReleaseDoesNothing(t *testing.T) {
	g := &again{counting: counting{name: "gate"}}
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.Off(), Layers: []resilience.Layer{g},
		Hold: func(v int, release resilience.Held) int { g.release = release.Release; return v }})
	if _, err := p.Do(t.Context(), func(context.Context) (int, error) { return 1, nil }); err != nil {
		t.Fatal(err)
	}
	g.release(nil)
	g.release(nil)
	if n := len(g.outcomes); n != 1 {
		t.Errorf("settled %d times, want once", n)
	}
}

// PIPE-27: a call of Run has no value that could be released.
func TestWhatHasNoValueIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room, gate := roomFor(1), &counting{}
		p := streams(nil, room, gate, resilience.Timeout{After: time.Second}, resilience.Retry{}, resilience.Timeout{After: time.Second})
		var inside context.Context
		err := p.Run(t.Context(), func(ctx context.Context) error { inside = ctx; return nil })
		if err != nil || room.Snapshot().Usage != 0 || gate.outstanding != 0 || inside.Err() == nil {
			t.Errorf("%v, %v, %d admitted, context %v", err, room, gate.outstanding, inside.Err())
		}
		if err := p.Run(t.Context(), func(ctx context.Context) error { time.Sleep(2 * time.Second); return nil }); err != nil {
			t.Errorf("a late success: %v", err)
		}
	})
}
