package grpcres_test

import (
	"context"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"

	"github.com/telltale-go/telltale/resilience"
)

// GRPC-02: an interceptor further in may drop the options by which the channel tells: the caller's end is enough.
func TestStreamLetsGoWithoutTheChannelsWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := bulkhead()
		c, _ := client(t, streaming(idempotent, places, resilience.Retry{MaxAttempts: 1}))
		s := serve(t, script{stream: endless})
		cc := connect(t, s, append(c.DialOptions(), grpc.WithChainStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc,
			cc *grpc.ClientConn, method string, next grpc.Streamer, _ ...grpc.CallOption) (grpc.ClientStream, error) {
			return next(ctx, d, cc, method)
		}))...)
		ctx, cancel := context.WithCancel(t.Context())
		st, err := down(ctx, cc, "m")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := receive(st); err != nil || used(places) != 1 {
			t.Fatalf("%v, %d places are held", err, used(places))
		}
		cancel()
		synctest.Wait()
		if n := used(places); n != 0 {
			t.Errorf("%d places are held when the caller has left", n)
		}
	})
}
