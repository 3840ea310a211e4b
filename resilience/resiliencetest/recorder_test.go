package resiliencetest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

var errDown = errors.New("down")

// twice makes a pipeline that tries twice, 100 ms apart.
func twice(bus *events.Bus, name string) *resilience.Pipeline[int] {
	return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: name, Bus: bus, Layers: []resilience.Layer{
		resilience.Retry{MaxAttempts: 2, Backoff: resilience.Constant(100 * time.Millisecond)},
	}})
}

func TestARecorderHoldsWhatWasPublished(t *testing.T) {
	bus := events.NewBus()
	rec, one := Record(bus), Record(bus, "one")
	synctest.Test(t, func(t *testing.T) { // made outside, used inside
		_ = twice(bus, "one").RunKey(t.Context(), "k", Script(Fails[int](errDown)).Run)
		_ = twice(bus, "two").Run(t.Context(), Script(Fails[int](errDown)).Run)
	})
	if n := len(Of[events.RetryScheduled](rec)); n != 2 {
		t.Errorf("%d retries recorded, want 2", n)
	}
	if n := len(Of[events.RetryScheduled](one)); n != 1 {
		t.Errorf("%d retries of one recorded, want 1", n)
	}
	if got := one.Tape(); !strings.HasPrefix(got, "execution.started one key=k\nattempt.started one key=k") || strings.Contains(got, "two") {
		t.Errorf("the tape is\n%s", got)
	}
	rec.Reset()
	if len(rec.Events()) != 0 || rec.Tape() != "" {
		t.Error("there are events after Reset")
	}
	rec.Stop()
	_ = twice(bus, "three").Run(t.Context(), func(context.Context) error { return nil })
	if len(rec.Events()) != 0 {
		t.Error("it records after Stop")
	}
}

func TestARecorderIsSafeForConcurrentUse(t *testing.T) {
	bus := events.NewBus()
	rec := Record(bus)
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				_ = p.Run(context.Background(), succeed)
				rec.Tape()
			}
		})
	}
	wg.Wait()
	if n := len(Of[events.ExecutionFinished](rec)); n != 400 {
		t.Errorf("%d recorded, want 400", n)
	}
}

// recorded returns a recording of two attempts that failed.
func recorded(t *testing.T) *Recorder {
	bus := events.NewBus()
	rec := Record(bus)
	synctest.Test(t, func(t *testing.T) { _ = twice(bus, "users.get").Run(t.Context(), Script(Fails[int](errDown)).Run) })
	return rec
}

func TestWantComparesWhatIsSet(t *testing.T) {
	rec := recorded(t)
	Want(t, rec, events.RetryScheduled{})
	Want(t, rec, events.RetryScheduled{Meta: events.Meta{Attempt: 1}, Delay: 100 * time.Millisecond, Err: errDown}, events.RetryStopped{Reason: events.ReasonExhausted})
	Want(t, rec, events.AttemptFinished{Outcome: events.OutcomeFailure}, events.AttemptFinished{Kind: events.AttemptRetry})
	WantNone[events.TimedOut](t, rec)
	other := errors.New("other")
	for says, wanted := range map[string][]events.Event{
		"of event 1 Delay is 100ms, wanted 1s":                 {events.RetryScheduled{Delay: time.Second}},
		"of event 1 Err is down, wanted other":                 {events.RetryScheduled{Err: other}},
		"of event 1 Attempt is 1, wanted 2":                    {events.RetryScheduled{Meta: events.Meta{Attempt: 2}}},
		"there are 1, wanted 2":                                {events.RetryScheduled{}, events.RetryScheduled{}},
		"there are 2, wanted 1":                                {events.AttemptFinished{}},
		"event 1 is a retry.scheduled, wanted a retry.stopped": {events.RetryStopped{}, events.RetryScheduled{}},
		"there are 0, wanted 1":                                {events.TimedOut{Limit: time.Second}},
		"no event is wanted":                                   {},
	} {
		found := &fakeTB{TB: t}
		Want(found, rec, wanted...)
		finds(t, says, says, found)
	}
	found := &fakeTB{TB: t}
	WantNone[events.RetryStopped](found, rec)
	finds(t, "WantNone", "1 retry.stopped users.get/retry", found)
}

func TestWantShowsWhatItGotAndWhatItWanted(t *testing.T) {
	found := &fakeTB{TB: t}
	Want(found, recorded(t), events.RetryScheduled{Delay: time.Second, Err: errDown}, events.RetryStopped{})
	want := strings.Join([]string{
		"the events are others than wanted: of event 1 Delay is 100ms, wanted 1s",
		"got:",
		"    1 retry.scheduled users.get/retry attempt.number=1 delay_s=0.1 error.type=_OTHER",
		"    2 retry.stopped users.get/retry attempt.number=2 reason=exhausted execution.attempts=2 error.type=_OTHER",
		"wanted:",
		"    1 retry.scheduled Delay=1s Err=down",
		"    2 retry.stopped",
	}, "\n")
	if got := found.text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWantTapeComparesTheTape(t *testing.T) {
	rec := recorded(t)
	WantTape(t, rec, "\n  "+strings.ReplaceAll(rec.Tape(), "\n", "\n\t\t")+"\n\t")
	found := &fakeTB{TB: t}
	WantTape(found, rec, "execution.started users.get\nretry.stopped")
	finds(t, "another tape", "from line 2 on\ngot:\n    execution.started users.get\n", found)
	finds(t, "another tape", "wanted:\n    execution.started users.get\n    retry.stopped", found)
	rec.Reset()
	found = &fakeTB{TB: t}
	WantTape(found, rec, "retry.stopped")
	finds(t, "nothing recorded", "got:\n    (none)", found)
}
