package stories_test

import (
	"context"
	"fmt"

	"github.com/telltale-go/telltale/resilience"
)

// client is a library that is resilient by default.
type client struct {
	peer     *remote
	pipeline *resilience.Pipeline[string]
}

// get asks the peer through a pipeline of the caller's, or, when that is nil, through the client's own.
func (c *client) get(ctx context.Context, p *resilience.Pipeline[string]) (string, error) {
	if p == nil {
		p = c.pipeline
	}
	return p.Do(ctx, c.peer.get)
}

// Bypass: a client library is resilient by default, and a caller that retries further out asks it not to be, or their
// attempts would multiply. The library takes a pipeline with each call; PassThrough is the one that adds nothing. An
// operator switches a single layer off by its value, without another pipeline.
//
// Not to get around an open breaker: Breaker.Disable does that for all its callers, and is seen in telemetry.
func Example_bypass() {
	ctx := context.Background()
	c := &client{pipeline: resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "client.get",
		Layers: []resilience.Layer{
			resilience.Timeout{After: -1},                                 // off
			resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay}, // MaxAttempts 1 would switch it off
		},
	})}

	c.peer = &remote{down: 2}
	answer, err := c.get(ctx, nil)
	fmt.Printf("its own: %q %v, %d calls\n", answer, err, c.peer.calls)

	c.peer = &remote{down: 2}
	answer, err = c.get(ctx, resilience.PassThrough[string]())
	fmt.Printf("bypassed: %q %v, %d call\n", answer, err, c.peer.calls)
	// Output:
	// its own: "pong" <nil>, 3 calls
	// bypassed: "" no answer, 1 call
}
