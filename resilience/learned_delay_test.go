package resilience_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

func near(got, want time.Duration) bool { return got > want*95/100 && got < want*105/100 }

// HDG-07
func TestTheDelayOfAHedgeIsLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		learn := resilience.MustLearnedDelay(resilience.LearnedDelayConfig{Quantile: 0.9})
		p := ints(events.NewBus(), resilience.Hedge{Delay: 2 * time.Second, Learn: learn})
		answer := func(d time.Duration) (runs int) {
			r := scripted(after(d, 1, nil), after(ms, 2, nil))
			_, _ = p.Do(t.Context(), r.do)
			return len(r.startedAt())
		}
		for i := range 20 {
			if _, ok := learn.Delay(); ok {
				t.Fatalf("learned from %d answers", i)
			}
			if n := answer(time.Duration(i+1) * 10 * ms); n != 1 {
				t.Fatalf("%d runs before the delay was learned, want the Hedge's own delay", n)
			}
		}
		if d, ok := learn.Delay(); !ok || !near(d, 180*ms) {
			t.Errorf("learned %v, want the quantile 0.9 of 10 ms to 200 ms", d)
		}
		if n := answer(150 * ms); n != 1 {
			t.Errorf("%d runs for an answer before the learned delay", n)
		}
		if n := answer(time.Second); n != 2 {
			t.Errorf("%d runs for an answer after it", n)
		}
		// It grows when all answers get slower, although hedges then cut most of them short.
		for range 200 {
			answer(400 * ms)
		}
		if d, _ := learn.Delay(); d < 180*ms {
			t.Errorf("learned %v while every answer takes 400 ms and every hedge 1 ms", d)
		}
		time.Sleep(10 * time.Minute)
		if d, ok := learn.Delay(); ok {
			t.Errorf("%v is remembered after ten idle minutes", d)
		}
	})
}

// HDG-07: what is learned while the dependency has become slower for all.
func TestTheLearnedDelayFollowsADependencyThatBecomesSlower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		learn := resilience.MustLearnedDelay(resilience.LearnedDelayConfig{Quantile: 0.9})
		p := ints(events.NewBus(), resilience.Hedge{Learn: learn})
		for range 40 {
			_, _ = p.Do(t.Context(), after(10*ms, 1, nil))
		}
		before, _ := learn.Delay()
		for range 400 {
			_, _ = p.Do(t.Context(), after(100*ms, 1, nil))
		}
		if after, _ := learn.Delay(); !near(before, 10*ms) || !near(after, 100*ms) {
			t.Errorf("learned %v, then %v; want 10 ms and 100 ms", before, after)
		}
	})
}

// HDG-07: the floor and the ceiling hold for what is learned, and before.
func TestTheLearnedDelayStaysWithinItsBounds(t *testing.T) {
	for _, c := range []struct{ own, takes, first, then time.Duration }{
		{time.Hour, time.Hour, 200 * ms, 200 * ms},
		{ms, ms, 100 * ms, 100 * ms},
		{150 * ms, 170 * ms, 150 * ms, 170 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			learn := resilience.MustLearnedDelay(resilience.LearnedDelayConfig{Min: 100 * ms, Max: 200 * ms, MinSamples: 1})
			p := ints(events.NewBus(), resilience.Hedge{Delay: c.own, Learn: learn})
			delay := func() time.Duration {
				r := scripted(after(24*time.Hour, 1, nil), returns(2, error(nil)))
				_, _ = p.Do(t.Context(), r.do)
				return r.startedAt()[1]
			}
			if got := delay(); got != c.first {
				t.Errorf("%+v: before, the delay is %v", c, got)
			}
			time.Sleep(time.Hour) // what was learned is forgotten
			_, _ = ints(events.NewBus(), resilience.Hedge{MaxAttempts: 2, Delay: c.own, Learn: learn}).Do(t.Context(), after(c.takes, 1, nil))
			if got := delay(); !near(got, c.then) {
				t.Errorf("%+v: then, the delay is %v", c, got)
			}
		})
	}
}

// HDG-07: failures and callers who leave early tell nothing about answers; what still ran when a hedge had won, or when
// the caller left late, tells the least it takes.
func TestWhatTheDelayIsLearnedFrom(t *testing.T) {
	for what, c := range map[string]struct {
		first, hedge resilience.Operation[int]
		leave        time.Duration
		want         time.Duration // 0: nothing
	}{
		"a success":                   {after(50*ms, 1, nil), nil, time.Hour, 50 * ms},
		"a failure":                   {after(50*ms, 1, errBoom), returns(0, errors.New("too")), time.Hour, 0},
		"a failure, a hedge's answer": {after(50*ms, 1, errBoom), after(ms, 2, nil), time.Hour, 0},
		"a loser":                     {after(time.Hour, 1, nil), after(60*ms, 2, nil), time.Hour, 160 * ms},
		"a caller who leaves":         {after(time.Hour, 1, nil), after(time.Hour, 2, nil), 50 * ms, 0},
		"one who leaves late":         {after(time.Hour, 1, nil), after(time.Hour, 2, nil), 300 * ms, 300 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			learn := resilience.MustLearnedDelay(resilience.LearnedDelayConfig{MinSamples: 1})
			p := ints(events.NewBus(), resilience.Hedge{Delay: 100 * ms, Learn: learn})
			ctx, cancel := context.WithTimeout(t.Context(), c.leave)
			defer cancel()
			_, _ = p.Do(ctx, scripted(c.first, c.hedge).do)
			if d, ok := learn.Delay(); ok != (c.want > 0) || ok && !near(d, c.want) {
				t.Errorf("%s: learned %v (%v), want %v", what, d, ok, c.want)
			}
		})
	}
}

// HDG-07: shared by many callers.
func TestALearnedDelayIsSharedByManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		learn := resilience.MustLearnedDelay(resilience.LearnedDelayConfig{Quantile: 0.9, Window: time.Hour})
		p := ints(events.NewBus(), resilience.Hedge{Learn: learn})
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				for range 10 {
					_, _ = p.Do(t.Context(), after(time.Duration(i+1)*ms, 1, nil))
					_ = learn.String()
				}
			})
		}
		all.Wait()
		time.Sleep(31 * time.Minute) // a step of the window: everything is remembered, and the estimate is made anew of it
		if d, ok := learn.Delay(); !ok || !near(d, 90*ms) {
			t.Errorf("learned %v", d)
		}
	})
}

// HDG-07: a zero LearnedDelay tells what it is.
func TestAZeroLearnedDelaySaysSo(t *testing.T) {
	var zero resilience.LearnedDelay
	if d, ok := zero.Delay(); d != 0 || ok || zero.String() != "a LearnedDelay that was not made by NewLearnedDelay" {
		t.Errorf("%v, %v, %v", d, ok, &zero)
	}
	if s := resilience.MustLearnedDelay(resilience.LearnedDelayConfig{}).String(); s != "delay not learned yet (quantile 0.95 of 1m0s, 1ms to 10s, from 20 answers on)" {
		t.Error(s)
	}
}
