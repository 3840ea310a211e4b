package stories_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// rateCache keeps the last rate of each pair.
type rateCache struct {
	mu    sync.Mutex // guards rates
	rates map[string]string
}

func (c *rateCache) put(pair, rate string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rates[pair] = rate
}

// last answers for a feed that does not: with the last rate of the pair, else the failure stands.
func (c *rateCache) last(ctx context.Context, _ string, err error) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if rate, ok := c.rates[resilience.CallKey(ctx)]; ok {
		return rate + " (old)", nil
	}
	return "", err
}

// Cached fallback: a rate of a minute ago is better than none. The fallback stands outermost: it answers when the retry
// has given up and when the breaker is open, and telemetry tells such calls from those that succeeded.
func Example_cachedFallback() {
	ctx := context.Background()
	bus := events.NewBus()
	outcomes := map[string]int{}
	bus.Execution.SubscribeEnds(func(_ context.Context, e events.ExecutionFinished) { outcomes[e.Outcome.String()]++ })
	cache, feed := &rateCache{rates: map[string]string{}}, &remote{}
	rates := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "rates", Bus: bus,
		Layers: []resilience.Layer{
			resilience.FallbackTo(cache.last),
			resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay},
			resilience.MustBreaker(resilience.BreakerConfig{Name: "feed", Bus: bus, ConsecutiveFailures: 4}),
		},
	})
	get := func(pair string) (string, error) {
		rate, err := rates.DoKey(ctx, pair, feed.get)
		if err == nil && feed.down == 0 {
			cache.put(pair, rate)
		}
		return rate, err
	}

	fmt.Println(get("EUR/USD"))
	feed.down = always
	fmt.Println(get("EUR/USD"))
	fmt.Println(get("EUR/CHF"))
	fmt.Println(get("EUR/USD")) // the breaker is open
	fmt.Println(feed.calls, "calls;", outcomes)
	// Output:
	// pong <nil>
	// pong (old) <nil>
	//  no answer
	// pong (old) <nil>
	// 5 calls; map[failure:1 fallback:2 success:1]
}
