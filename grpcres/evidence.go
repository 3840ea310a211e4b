package grpcres

import (
	"net"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// evidence is what a channel tells of one attempt beside its error: whether it surely was not sent, and the trailer.
//
// UNAVAILABLE alone does not prove anything. But a channel fills in grpc.Peer for every call that got as far as having
// its headers handed to a connection, and then, or where it ended before that, calls grpc.OnFinish: who was finished
// without a peer has sent nothing. What gRPC sends again by itself ("transparent retries") the server did surely not
// process. The channel's own retries would spoil it, since their last attempt decides: where there may be any nothing
// is proved.
type evidence struct {
	peer     peer.Peer
	trailer  metadata.MD
	finished atomic.Bool        // then the rest may be read: the channel has written it before
	room     [6]grpc.CallOption // for the options: the three that collect this, and a few of the caller's
}

// nobody is the peer of a call that has none.
type nobody struct{}

func (nobody) Network() string { return "none" }
func (nobody) String() string  { return "none" }

var _ net.Addr = nobody{}

// finish is what the channel calls when the attempt has ended.
func (e *evidence) finish(error) { e.finished.Store(true) }

// options adds to the caller's options what collects the evidence. finish calls that of e.
func (e *evidence) options(callers []grpc.CallOption, finish func(error)) []grpc.CallOption {
	e.peer.Addr = nobody{}
	opts := append(append(e.room[:0], callers...), grpc.Peer(&e.peer), grpc.Trailer(&e.trailer), grpc.OnFinish(finish))
	return slices.Clip(opts) // what an interceptor further in adds is its own
}

// unsent tells whether the channel surely sent nothing. retries: it may have sent before what it could not send last.
func (e *evidence) unsent(retries bool) bool {
	return !retries && e.finished.Load() && e.peer.Addr == net.Addr(nobody{})
}

// trailers returns the trailer, nil if there is none.
func (e *evidence) trailers() metadata.MD {
	if !e.finished.Load() {
		return nil
	}
	return e.trailer
}

// mayRetry tells whether a channel may retry a method by itself, for all that can be seen: of xDS nothing can.
func mayRetry(cc *grpc.ClientConn, method string) bool {
	return cc == nil || hasPolicy(cc, method) || strings.HasPrefix(cc.CanonicalTarget(), "xds:")
}

// hasPolicy tells whether the channel's service config has a retry policy for the method.
func hasPolicy(cc *grpc.ClientConn, method string) bool {
	return cc != nil && cc.GetMethodConfig(method).RetryPolicy != nil
}
