package grpcres

import (
	"context"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
)

// call is one unary call on its way through the pipeline, all in one piece.
type call struct {
	sendable
	req, reply any
	invoker    grpc.UnaryInvoker
	opts       []grpc.CallOption

	mu     sync.Mutex
	landed []landing // where attempts run beside each other: those that succeeded

	begun atomic.Bool // first is in use
	first evidence    // of the first attempt, which is like any other
}

// call sends a unary call through the pipeline. Its error is the channel's, or that of the layer that decided, which
// has a status, too.
func (c *Client) call(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker,
	opts []grpc.CallOption, owned bool) error {
	if c.unary == nil {
		return errNotMade
	}
	u := &call{req: req, reply: reply, invoker: invoker, opts: opts, sendable: sendable{
		Context: ctx, client: c, cc: cc, method: method, owned: owned, repeats: c.repeats.unary,
	}}
	if !owned && c.repeats.unary {
		c.channel.look(ctx, c, c.unary, cc, method)
	}
	v, err := c.unary.Do(u, u.attempt)
	if err != nil {
		return withStatus(withoutMarks(err))
	}
	return u.deliver(v)
}

// attempt is the pipeline's operation: it sends the call once.
func (u *call) attempt(ctx context.Context) (any, error) {
	if err := u.begin(); err != nil {
		return nil, err
	}
	e := &u.first
	if u.begun.Swap(true) {
		e = new(evidence)
	}
	l := landing{reply: u.reply, opts: u.opts}
	if u.client.copies {
		l = newLanding(u.reply, u.opts)
	}
	if err := u.invoker(outgoing(ctx), u.method, u.req, l.reply, u.cc, e.options(l.opts, e.finish)...); err != nil {
		return nil, u.failed(ctx, err, e)
	}
	if u.client.copies {
		u.mu.Lock()
		u.landed = append(u.landed, l)
		u.mu.Unlock()
	}
	return l.reply, nil
}

// deliver hands the pipeline's reply to the caller: its own, or that of an attempt or of a layer of the user's.
func (u *call) deliver(v any) error {
	if v == nil {
		return errNoAnswer
	}
	if v == u.reply {
		return nil
	}
	u.mu.Lock()
	landed := u.landed
	u.mu.Unlock()
	for _, l := range landed {
		if l.reply == v {
			l.tell()
		}
	}
	return copyReply(u.reply, v)
}
