package resilience_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-27, HDG-02, HTTP-12: the winner's context and permits live until its release, those of losers do not; an attempt's
// limit is lifted, the whole call's goes on.
func TestAHeldValueOfAHedgeLivesUntilItsRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := roomFor(3)
		loser := &stream{}
		var first context.Context
		p := streams(nil, resilience.Timeout{After: time.Minute}, resilience.Hedge{Delay: 100 * ms}, room, resilience.Timeout{After: time.Second})
		runs := scripted(func(ctx context.Context) (*stream, error) {
			first = ctx
			time.Sleep(500 * ms)
			return loser, nil
		}, openStream)
		s, err := p.Do(t.Context(), runs.do)
		if err != nil || s.ctx.Err() != nil || room.Snapshot().Usage != 2 {
			t.Fatalf("%v, context %v, %+v", err, s.ctx.Err(), room.Snapshot())
		}
		synctest.Wait()
		if first.Err() == nil {
			t.Error("the loser's context lives")
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if !loser.dropped || s.dropped || room.Snapshot().Usage != 1 || s.ctx.Err() != nil {
			t.Errorf("loser dropped: %v, winner dropped: %v, %+v, context %v", loser.dropped, s.dropped, room.Snapshot(), s.ctx.Err())
		}
		s.release(nil)
		if room.Snapshot().Usage != 0 || s.ctx.Err() == nil {
			t.Errorf("after the release: %+v, context %v", room.Snapshot(), s.ctx.Err())
		}
		s, err = p.Do(t.Context(), openStream)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.ctx.Err() == nil || context.Cause(s.ctx).Error() != "resilience: timeout_0: no result within 1m0s" {
			t.Errorf("after the whole call's limit: %v", context.Cause(s.ctx))
		}
		s.release(nil)
	})
}

// PIPE-27, HDG-02: breakers learn of a held value at its release, of a loser's at once; superseded values let go, too.
func TestOutcomesOfHeldValuesInAHedge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &counting{name: "gate"}
		p := streams(nil, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}, resilience.Hedge{Delay: 100 * ms}, gate)
		runs := scripted(deaf(10*ms, &stream{bad: true}, nil), deaf(10*ms, &stream{bad: true}, nil), deaf(200*ms, &stream{}, nil), openStream)
		s, err := p.Do(t.Context(), runs.do)
		if err != nil || len(runs.startedAt()) != 4 || gate.out() != 2 {
			t.Fatalf("%v after %d runs, %d permits are out; want the winner's and the loser's", err, len(runs.startedAt()), gate.out())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if gate.out() != 1 {
			t.Errorf("%d permits are out, want the winner's", gate.out())
		}
		s.release(errBoom)
		if s.ctx.Err() == nil {
			t.Error("the winner's context outlives the value")
		}
		want := []resilience.OutcomeKind{resilience.Failed, resilience.Failed, resilience.Succeeded, resilience.Failed}
		if got := gate.kinds(); len(got) != 4 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
			t.Errorf("the gate learned %v, want %v", got, want)
		}
	})
}

// PIPE-13, PIPE-27: a run that holds a value and then panics, in a layer of the user's, lets go.
func TestARunThatPanicsWithAHeldValueLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &counting{name: "gate"}
		breaks := typed[*stream](func(next resilience.Next[*stream]) resilience.Next[*stream] {
			return func(ctx context.Context, call resilience.Call, op resilience.Operation[*stream]) (*stream, error) {
				_, _ = next(ctx, call, op)
				panic("in the layer")
			}
		})
		for _, layer := range []resilience.Layer{resilience.Hedge{}, resilience.Timeout{Abandon: true}} {
			p := streams(nil, layer, breaks, gate)
			if v := caughtFrom(func() { _, _ = p.Do(t.Context(), openStream) }); v == nil || gate.out() != 0 {
				t.Errorf("%T: panic %v, %d permits are out", layer, v, gate.out())
			}
		}
	})
}

// HDG-02, PIPE-04: a Hedge in a Hedge; each level has its own losers.
func TestAHedgeInAHedge(t *testing.T) {
	for _, hold := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bus := events.NewBus()
			tape := record(bus)
			p := values(bus, hold, resilience.Hedge{Delay: 250 * ms}, resilience.Hedge{Name: "inner", Delay: 100 * ms})
			all := []*closable{{}, {}, {}, {}}
			runs := scripted(deaf(time.Minute, all[0], nil), deaf(time.Minute, all[1], nil), deaf(time.Minute, all[2], nil), deaf(10*ms, all[3], nil))
			began := time.Now()
			v, err := p.Do(t.Context(), runs.do)
			if v != all[3] || err != nil || time.Since(began) != 360*ms {
				t.Errorf("%v, %v after %v", v, err, time.Since(began))
			}
			if e := heard[events.ExecutionFinished](tape)[0]; e.Attempts != 4 {
				t.Errorf("finished: %+v", e)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Error(err)
			}
			for i, c := range all[:3] {
				if c.closed != 1 {
					t.Errorf("hold %v: value %d was closed %d times", hold, i, c.closed)
				}
			}
			kinds := map[events.AttemptKind]int{}
			for _, e := range heard[events.AttemptFinished](tape) {
				kinds[e.Kind]++
			}
			if kinds[events.AttemptInitial] != 1 || kinds[events.AttemptHedge] != 3 {
				t.Errorf("attempts by kind: %v", kinds)
			}
		})
	}
}
