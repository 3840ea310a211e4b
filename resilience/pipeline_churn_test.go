package resilience_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// BUS-04, BUS-08, PIPE-13: calls that end in every way, while observers come and go, some of which panic or end their
// goroutine.
func TestNothingIsLostWhileObserversComeAndGo(t *testing.T) {
	bus := events.NewBus()
	gate := &counting{}
	room := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxConcurrent: 4, MaxQueue: 64, Bus: bus})
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 1, MinCalls: 8, Cooldown: time.Microsecond, Bus: bus})
	p := resilience.MustPipeline(resilience.PipelineConfig[*reply]{Name: "p", Bus: bus, Classify: judge, Layers: []resilience.Layer{
		gate, room, resilience.Timeout{After: time.Minute}, resilience.Retry{Backoff: resilience.Constant(time.Microsecond), RetryRejections: true}, db,
	}})

	var started, ended atomic.Int64
	observe := func(misbehave func()) (cancel func()) {
		return bus.Attempt.Observe(func(context.Context, events.AttemptStarted) (context.Context, func(events.AttemptFinished)) {
			started.Add(1)
			return nil, func(events.AttemptFinished) {
				ended.Add(1)
				misbehave()
			}
		})
	}
	misbehave := []func(){func() {}, func() { panic("observer") }, runtime.Goexit}
	stop := make(chan struct{})
	var churn sync.WaitGroup
	for i := range 4 {
		churn.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
					cancel := observe(misbehave[n%3])
					cancelAll := bus.Subscribe(func(context.Context, events.Event) { misbehave[n%2]() })
					runtime.Gosched()
					cancel()
					cancelAll()
				}
			}
		})
	}

	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() {
			for n := range 150 {
				ctx, cancel := context.WithCancel(t.Context())
				survive(func() {
					p.Do(ctx, func(ctx context.Context) (*reply, error) {
						switch (i + n) % 6 {
						case 0:
							return nil, errBoom
						case 1:
							return &reply{status: 503}, nil
						case 2:
							panic("operation")
						case 3:
							runtime.Goexit()
						case 4:
							cancel()
							return nil, errors.New("late")
						}
						return &reply{status: 200}, nil
					})
				})
				cancel()
			}
		})
	}
	calls.Wait()
	close(stop)
	churn.Wait()

	if s, e := started.Load(), ended.Load(); s != e || s == 0 {
		t.Errorf("%d attempts were seen to start, %d to end", s, e)
	}
	if s := room.Snapshot(); gate.outstanding != 0 || s.Usage != 0 || s.Queued != 0 {
		t.Errorf("left behind: %d permits, %+v", gate.outstanding, s)
	}
	db.Reset()
	if v, err := p.Do(t.Context(), returns(&reply{status: 200}, nil)); err != nil || v.status != 200 {
		t.Errorf("the next call: %v, %v", v, err)
	}
}
