package stories_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/telltale-go/telltale/resilience"
)

// Conservative mutation: money is moved, which must not happen twice, and the peer knows no idempotency key. Only what
// surely never arrived is repeated: a connection that could not be made is, one that broke in the middle is not. The
// predicate is the retry's alone: what must not be repeated is the dependency's failure all the same, and the breaker
// counts it.
//
// Not needed where the peer knows an idempotency key, or the write may be made twice: there IsTransient repeats more. And
// it is no proof of anything in the operation itself: one that calls two services may have done the first half.
func Example_conservativeMutation() {
	ctx := context.Background()
	bank := resilience.MustBreaker(resilience.BreakerConfig{Name: "bank"})
	transfer := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "bank.transfer",
		Layers: []resilience.Layer{
			resilience.Retry{MaxAttempts: 3, Backoff: resilience.NoDelay, If: resilience.IsNotProcessed},
			bank,
			resilience.Timeout{},
		},
	})
	try := func(failure error) {
		calls := 0
		receipt, err := transfer.Do(ctx, func(context.Context) (string, error) {
			if calls++; calls == 1 {
				return "", failure
			}
			return "receipt", nil
		})
		fmt.Printf("%q %v after %d calls\n", receipt, err, calls)
	}

	try(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
	try(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})
	try(io.ErrUnexpectedEOF)
	fmt.Println(bank.Snapshot().Failures, "failures in a row at the breaker")
	// Output:
	// "receipt" <nil> after 2 calls
	// "" read tcp: connection reset by peer after 1 calls
	// "" unexpected EOF after 1 calls
	// 2 failures in a row at the breaker
}
