package stories_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// quota lets so many calls through and no more, such as a day's worth of a paid API. Calls that did not reach the peer
// are given back.
type quota struct{ left atomic.Int64 }

func (q *quota) LayerInfo() resilience.LayerInfo {
	return resilience.LayerInfo{Name: "daily_quota", Type: "quota"}
}

func (q *quota) Admit(context.Context, resilience.Call) (resilience.Permit, error) {
	if q.left.Add(-1) < 0 {
		q.left.Add(1)
		return resilience.Permit{}, resilience.Reject(events.ReasonRate, time.Hour)
	}
	return resilience.Permit{}, nil
}

func (q *quota) Settle(_ context.Context, _ resilience.Call, _ resilience.Permit, o resilience.Outcome) {
	if o.Kind == resilience.Rejected { // by a layer further in
		q.left.Add(1)
	}
}

// A paid API counts calls. A gate of one's own is 15 lines, and any pipeline takes it; its refusals are events and
// metrics like those of the gates that come with the library.
func Example_customGate() {
	ctx := context.Background()
	paid := &quota{}
	paid.left.Store(2)
	translate := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name:   "translate",
		Layers: []resilience.Layer{paid, resilience.Retry{Backoff: resilience.NoDelay}},
	})

	service := &remote{}
	for range 3 {
		answer, err := translate.Do(ctx, service.get)
		fmt.Printf("%q %v %v\n", answer, err, resilience.KindOf(err))
	}
	// Output:
	// "pong" <nil> ok
	// "pong" <nil> ok
	// "" resilience: daily_quota rejected the call: rate, retry after 1h0m0s limited
}
