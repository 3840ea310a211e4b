package grpcres

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/told"
	"github.com/telltale-go/telltale/resilience"
)

// maxTold is of how many methods a client tells that their channel may retry, too.
const maxTold = 16

// channelRetry tells, once a method, that a channel's service config makes it retry by itself.
type channelRetry struct {
	mu   sync.Mutex // guards told; never held while a handler runs
	told []string
}

func (r *channelRetry) look(ctx context.Context, c *Client, through *resilience.Pipeline[any], cc *grpc.ClientConn, method string) {
	if !hasPolicy(cc, method) || !r.first(method) {
		return
	}
	told.Warning(ctx, c.cfg.Bus, through.Name(), events.WarningNestedRetry,
		fmt.Sprintf("the service config of %s has a retry policy for %s, and the retry of pipeline %q runs around it: "+
			"their attempts multiply; dial with Client.DialOptions, which switch the channel's off", cc.CanonicalTarget(), method, through.Name()))
}

// first tells whether the method was not told of.
func (r *channelRetry) first(method string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.told {
		if m == method {
			return false
		}
	}
	if len(r.told) == maxTold {
		return false
	}
	r.told = append(r.told, method)
	return true
}
