package resilience

import (
	"context"
	"sync"

	"github.com/telltale-go/telltale/events"
)

// changes are new limits on their way to the bus, in order. The mutex of who has them guards them.
type changes struct{ box events.Outbox[changedLimit] }

type changedLimit struct {
	ctx   context.Context
	event events.LimitChanged
}

// add queues one, to be published by unlock.
func (c *changes) add(ctx context.Context, bus *events.Bus, event events.LimitChanged) {
	if !c.box.Put(changedLimit{ctx, event}, maxTold) {
		bus.CountDropped()
	}
}

// unlock releases mu, and publishes what is queued.
func (c *changes) unlock(mu *sync.Mutex, bus *events.Bus) {
	c.box.Deliver(mu, func(l changedLimit) { bus.LimitChanged.Publish(l.ctx, l.event) })
}
