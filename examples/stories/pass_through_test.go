package stories_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// Mapping-only pass-through: the dependency is in the same process, so nothing is repeated and nothing refused, but the
// handler answers in the same terms as everywhere: the kind of an error is the status.
//
// Not for a call that leaves the process: it wants a timeout at least.
func Example_mappingOnlyPassThrough() {
	local := resilience.PassThrough[string]()
	handle := func(ctx context.Context, op resilience.Operation[string]) {
		_, err := local.Do(ctx, op)
		kind := resilience.KindOf(err)
		fmt.Println(kind.HTTPStatus(), kind, "worth repeating:", kind.Transient())
	}
	fails := func(err error) resilience.Operation[string] {
		return func(context.Context) (string, error) { return "", err }
	}
	ctx := context.Background()
	gone, leave := context.WithCancel(ctx)
	leave()
	quota := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "reports-quota", Rate: 1, Per: time.Hour})
	limited := func(ctx context.Context) (string, error) {
		return resilience.Do(ctx, (&remote{}).get, quota) // a layer further in refuses the second one
	}

	handle(gone, (&remote{}).get)
	handle(ctx, limited)
	handle(ctx, limited)
	handle(ctx, fails(fmt.Errorf("reading users: %w", syscall.ECONNREFUSED)))
	handle(ctx, fails(fmt.Errorf("reading users: %w", context.DeadlineExceeded))) // the dependency's: ours would be marked
	handle(ctx, fails(io.ErrUnexpectedEOF))
	handle(ctx, fails(errors.New("no such column")))
	// Output:
	// 499 canceled worth repeating: false
	// 200 ok worth repeating: false
	// 429 limited worth repeating: true
	// 503 unavailable worth repeating: true
	// 503 unavailable worth repeating: true
	// 503 unavailable worth repeating: true
	// 500 unhandled worth repeating: false
}
