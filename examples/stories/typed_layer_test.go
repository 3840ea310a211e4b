package stories_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/telltale-go/telltale/resilience"
)

// lastKnown answers with the last good value of the call's key when what is inside it fails. It makes, of a failure, a
// success: it stands outermost, where the layers inside have seen the failure.
type lastKnown[T any] struct {
	mu     sync.Mutex // guards values
	values map[string]T
}

func (l *lastKnown[T]) LayerInfo() resilience.LayerInfo {
	return resilience.LayerInfo{Name: "last_known", Type: "cache"}
}

func (l *lastKnown[T]) Wrap(next resilience.Next[T]) resilience.Next[T] {
	return func(ctx context.Context, call resilience.Call, op resilience.Operation[T]) (T, error) {
		v, err := next(ctx, call, op)
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil {
			l.values[call.Key()] = v
			return v, nil
		}
		if old, ok := l.values[call.Key()]; ok && ctx.Err() == nil {
			return old, nil
		}
		return v, err
	}
}

// Exchange rates of a minute ago are better than none. A layer of one's own that knows the result type replaces failures by
// what was last known.
func Example_customTypedLayer() {
	ctx := context.Background()
	feed := &remote{}
	rates := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "rates.last_known",
		Layers: []resilience.Layer{
			&lastKnown[string]{values: map[string]string{}},
			resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay},
		},
	})

	fmt.Println(rates.DoKey(ctx, "EUR/USD", feed.get))
	feed.down = always
	fmt.Println(rates.DoKey(ctx, "EUR/USD", feed.get))
	fmt.Println(rates.DoKey(ctx, "EUR/CHF", feed.get))
	fmt.Println(feed.calls, "calls")
	// Output:
	// pong <nil>
	// pong <nil>
	//  no answer
	// 5 calls
}
