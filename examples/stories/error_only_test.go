package stories_test

import (
	"context"
	"fmt"

	"github.com/telltale-go/telltale/resilience"
)

// Messages are published to a broker; there is nothing to return. A pipeline of any result type runs such an operation with
// Run; one that runs no other is a Pipeline[struct{}].
func Example_errorOnlyPipeline() {
	ctx := context.Background()
	broker := &remote{down: 1}
	publish := resilience.MustPipeline(resilience.PipelineConfig[struct{}]{
		Name: "broker.publish", Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}},
	})

	err := publish.Run(ctx, broker.ping)

	fmt.Println(err, "after", broker.calls, "calls")
	// Output: <nil> after 2 calls
}
