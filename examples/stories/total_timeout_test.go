package stories_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// Total against per-attempt timeout. A replica hangs now and then; asked again, another one answers. A timeout inside the
// retry ends the attempt that hangs, and the next one succeeds; the total alone would have waited for the one that hangs.
//
// Not for work that one attempt cannot end within the limit and that starts anew each time: then the retry only wastes.
func Example_attemptTimeout() {
	ctx := context.Background()

	answer, err := resilience.Do(ctx, func(ctx context.Context) (string, error) {
		if resilience.AttemptNumber(ctx) == 1 {
			return hang(ctx)
		}
		return "from another replica", nil
	},
		resilience.Timeout{After: time.Minute}, // the whole call
		resilience.Retry{Backoff: resilience.NoDelay},
		resilience.Timeout{After: time.Millisecond}, // each attempt
	)

	fmt.Println(answer, err)
	// Output: from another replica <nil>
}

// All replicas hang. The timeout outside the retry ends the call, whatever attempts are left. The error tells which
// layer decided, and a timeout of ours is told from the caller's own deadline by its kind. Without the total a call may
// take as long as all attempts and delays together.
func Example_totalTimeout() {
	ctx := context.Background()

	_, err := resilience.Do(ctx, hang,
		resilience.Timeout{Name: "total", After: 2 * time.Millisecond},
		resilience.Retry{MaxAttempts: resilience.Unlimited, Backoff: resilience.NoDelay},
		resilience.Timeout{Name: "attempt", After: time.Minute},
	)

	fmt.Println(err)
	fmt.Println(errors.Is(err, resilience.ErrTimeout), errors.Is(err, context.DeadlineExceeded), resilience.KindOf(err))

	request, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = resilience.Do(request, hang, resilience.Timeout{After: time.Minute})
	fmt.Println(err)
	fmt.Println(errors.Is(err, resilience.ErrTimeout), errors.Is(err, context.DeadlineExceeded), resilience.KindOf(err))
	// Output:
	// resilience: total: no result within 2ms
	// true true unavailable
	// resilience: canceled by the caller: context deadline exceeded
	// false true canceled
}
