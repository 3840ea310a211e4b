package stories_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/telltale-go/telltale/resilience"
)

// flight is one call that several callers wait for.
type flight[T any] struct {
	done   chan struct{}
	value  T
	err    error
	joined int
}

// together runs the calls of one key that overlap as one. It is as simple as a story can be: the first caller's
// cancellation and panic are everybody's, and a follower waits for as long as it takes.
type together[T any] struct {
	mu      sync.Mutex // guards flights
	flights map[string]*flight[T]
}

func (t *together[T]) LayerInfo() resilience.LayerInfo {
	return resilience.LayerInfo{Name: "together", Type: "dedupe"}
}

func (t *together[T]) Wrap(next resilience.Next[T]) resilience.Next[T] {
	return func(ctx context.Context, call resilience.Call, op resilience.Operation[T]) (T, error) {
		t.mu.Lock()
		if f, ok := t.flights[call.Key()]; ok {
			f.joined++
			t.mu.Unlock()
			<-f.done
			return f.value, f.err
		}
		f := &flight[T]{done: make(chan struct{})}
		t.flights[call.Key()] = f
		t.mu.Unlock()
		defer func() {
			t.mu.Lock()
			delete(t.flights, call.Key())
			t.mu.Unlock()
			close(f.done)
		}()
		f.value, f.err = next(ctx, call, op)
		return f.value, f.err
	}
}

func (t *together[T]) joined(key string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f, ok := t.flights[key]; ok {
		return f.joined
	}
	return 0
}

// Burst dedupe: a cache entry expires and a hundred requests want to fill it at the same moment. They share one call,
// and with it one permit, one retry and one answer, because the layer that joins them is outermost.
func Example_burstDedupe() {
	ctx := context.Background()
	one := &together[string]{flights: map[string]*flight[string]{}}
	articles := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "articles.fill",
		Layers: []resilience.Layer{
			one,
			resilience.MustBulkhead(resilience.BulkheadConfig{Name: "articles", MaxConcurrent: 1}),
			resilience.Retry{Backoff: resilience.NoDelay},
		},
	})

	everybodyIsHere, runs := make(chan struct{}), 0
	var burst sync.WaitGroup
	for range 100 {
		burst.Go(func() {
			_, err := articles.DoKey(ctx, "article:42", func(context.Context) (string, error) {
				<-everybodyIsHere
				runs++
				return "text", nil
			})
			if err != nil {
				fmt.Println(err)
			}
		})
	}
	waitUntil(func() bool { return one.joined("article:42") == 99 })
	close(everybodyIsHere)
	burst.Wait()

	fmt.Println("100 callers,", runs, "call")
	// Output: 100 callers, 1 call
}
