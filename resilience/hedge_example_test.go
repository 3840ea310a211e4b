package resilience_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

func ExampleHedge() {
	var runs atomic.Int32
	ask := func(ctx context.Context) (string, error) {
		if runs.Add(1) == 1 { // the first to be asked does not answer
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "the answer", nil
	}
	answer, err := resilience.Do(context.Background(), ask, resilience.Hedge{MaxAttempts: 2, Delay: 10 * time.Millisecond})
	fmt.Println(answer, err)
	// Output: the answer <nil>
}

func ExampleLearnedDelay() {
	learn := resilience.MustLearnedDelay(resilience.LearnedDelayConfig{Quantile: 0.95, Min: 10 * time.Millisecond, Max: time.Second})
	search := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name:   "search",
		Layers: []resilience.Layer{resilience.Hedge{Learn: learn}},
	})
	ask := func(context.Context) (string, error) { return "found", nil }
	for range 20 {
		if _, err := search.Do(context.Background(), ask); err != nil {
			fmt.Println(err)
		}
	}
	delay, learned := learn.Delay()
	fmt.Println(learned, delay < time.Second)
	// Output: true true
}

func ExampleTimeout_abandon() {
	stuck := make(chan struct{})
	deaf := func(context.Context) error { <-stuck; return nil } // an operation that does not heed its context
	err := resilience.Run(context.Background(), deaf, resilience.Timeout{After: time.Millisecond, Abandon: true})
	close(stuck)
	fmt.Println(err)
	// Output: resilience: timeout: no result within 1ms
}
