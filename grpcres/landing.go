package grpcres

import (
	"fmt"
	"reflect"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"
)

// landing is where an attempt that runs beside others, or after the call has returned, puts what it gets: the caller's
// own places are for the one that wins.
type landing struct {
	reply any
	opts  []grpc.CallOption
	tells []func()
}

func newLanding(reply any, opts []grpc.CallOption) landing {
	l := landing{reply: fresh(reply), opts: slices.Clone(opts)}
	for i, o := range l.opts {
		switch o := o.(type) {
		case grpc.HeaderCallOption:
			own := new(metadata.MD)
			l.opts[i] = grpc.Header(own)
			l.tells = append(l.tells, func() { *o.HeaderAddr = *own })
		case grpc.TrailerCallOption:
			own := new(metadata.MD)
			l.opts[i] = grpc.Trailer(own)
			l.tells = append(l.tells, func() { *o.TrailerAddr = *own })
		case grpc.PeerCallOption:
			own := new(peer.Peer)
			l.opts[i] = grpc.Peer(own)
			l.tells = append(l.tells, func() { *o.PeerAddr = *own })
		}
	}
	return l
}

// tell gives the caller the header, the trailer and the peer.
func (l landing) tell() {
	for _, tell := range l.tells {
		tell()
	}
}

// fresh returns an empty message like this one.
func fresh(message any) any {
	if m, ok := message.(proto.Message); ok {
		return m.ProtoReflect().New().Interface()
	}
	if v := reflect.ValueOf(message); v.Kind() == reflect.Pointer {
		return reflect.New(v.Type().Elem()).Interface()
	}
	return message
}

// copyReply copies a reply to the caller's. Others may have it as well: a layer's own answer, a shared flight.
func copyReply(to, from any) error {
	dst, isProto := to.(proto.Message)
	src, same := from.(proto.Message)
	if isProto && same && dst.ProtoReflect().Descriptor() == src.ProtoReflect().Descriptor() {
		proto.Reset(dst)
		proto.Merge(dst, src)
		return nil
	}
	a, b := reflect.ValueOf(to), reflect.ValueOf(from)
	if isProto || a.Kind() != reflect.Pointer || a.Type() != b.Type() || b.IsNil() {
		return fmt.Errorf("grpcres: a layer answered with a %T, where the reply is a %T", from, to)
	}
	a.Elem().Set(b.Elem())
	return nil
}
