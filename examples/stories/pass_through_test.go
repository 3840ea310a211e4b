package stories_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// Mapping-only pass-through: the dependency is in the same process, so nothing is repeated and nothing refused, but the
// handler answers in the same terms as everywhere: the kind of an error is the status.
func Example_mappingOnlyPassThrough() {
	local := resilience.PassThrough[string]()
	handle := func(ctx context.Context, failure error) {
		_, err := local.Do(ctx, func(context.Context) (string, error) { return "", failure })
		kind := resilience.KindOf(err)
		fmt.Println(kind.HTTPStatus(), kind, "worth repeating:", kind.Transient())
	}

	gone, leave := context.WithCancel(context.Background())
	leave()
	handle(gone, nil)
	for _, failure := range []error{
		nil,
		&resilience.LimitedError{Layer: "accounts", Reason: events.ReasonFull}, // a pipeline further in was full
		fmt.Errorf("reading users: %w", syscall.ECONNREFUSED),
		fmt.Errorf("reading users: %w", context.DeadlineExceeded), // the dependency's: ours would be marked
		io.ErrUnexpectedEOF,
		errors.New("no such column"),
	} {
		handle(context.Background(), failure)
	}
	// Output:
	// 499 canceled worth repeating: false
	// 200 ok worth repeating: false
	// 429 limited worth repeating: true
	// 503 unavailable worth repeating: true
	// 503 unavailable worth repeating: true
	// 503 unavailable worth repeating: true
	// 500 unhandled worth repeating: false
}

// Bypass: a client library is resilient by default, and a caller that already retries further out asks it not to be.
// The library takes a pipeline a call; nil means its own. An operator switches a single layer off by its value.
func Example_bypass() {
	ctx := context.Background()
	own := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "client.get",
		Layers: []resilience.Layer{
			resilience.Timeout{After: -1},                                 // off
			resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay}, // MaxAttempts 1 would switch it off
		},
	})
	get := func(service *remote, p *resilience.Pipeline[string]) (string, error) {
		if p == nil {
			p = own
		}
		return p.Do(ctx, service.get)
	}

	flaky := &remote{down: 2}
	fmt.Println(get(flaky, nil))
	flaky = &remote{down: 2}
	fmt.Println(get(flaky, resilience.PassThrough[string]()))
	fmt.Println(flaky.calls, "call")
	// Output:
	// pong <nil>
	//  no answer
	// 1 call
}
