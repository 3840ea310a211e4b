package grpcres

import (
	"context"
	"errors"
	"io"
	"runtime/debug"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/telltale-go/telltale/resilience"
)

// stream is what the caller gets for a stream. Until it is established its pipeline runs on a goroutine of its own,
// which ends with the first message, with the failure of the last attempt, or with the caller's context. As ever, one
// goroutine at a time may send, and one receive.
type stream struct {
	sendable
	desc     *grpc.StreamDesc
	streamer grpc.Streamer
	opts     []grpc.CallOption

	box     outbox
	asked   chan struct{} // closed when the caller wants the first message
	first   any           // where it is to go
	wanted  bool          // asked is closed; the receiver's own
	settled chan struct{} // closed when the pipeline has returned
	live    *established  // nil if there is no stream; this and what follows is to be read when settled is closed
	err     error
	thrown  *resilience.PanicError
	gone    bool // the attempt ended its goroutine
}

var errGone = errors.New("grpcres: the attempt called runtime.Goexit")

// open sends a stream through the pipeline, and returns when its first attempt has one.
func (c *Client) open(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer,
	opts []grpc.CallOption, owned bool) (grpc.ClientStream, error) {
	if c.streams == nil {
		return nil, errNotMade
	}
	if !owned && c.repeats.streams {
		c.channel.look(ctx, c, c.streams, cc, method)
	}
	s := &stream{desc: desc, streamer: streamer, opts: opts, sendable: sendable{
		Context: ctx, client: c, cc: cc, method: method, owned: owned, repeats: c.repeats.streams,
	}, asked: make(chan struct{}), settled: make(chan struct{})}
	s.box.init(c.cfg.MaxReplay, &s.forgot)
	go s.establish(c.streams)
	select {
	case <-s.box.opened:
		return s, nil
	case <-s.settled:
		if s.live == nil {
			return nil, s.failure()
		}
		return s, nil
	}
}

// establish runs the pipeline.
func (s *stream) establish(through *resilience.Pipeline[any]) {
	s.gone = true
	defer close(s.settled)
	defer func() {
		if v := recover(); v != nil {
			p, raised := v.(*resilience.PanicError) // by a layer, with the stack of where it was
			if !raised || p == nil {
				p = &resilience.PanicError{Value: v, Stack: debug.Stack(), Raised: true}
			}
			s.thrown, s.live = p, nil
		}
		s.box.settle(s.live)
		if s.live != nil {
			s.live.watch() // what has ended already lets go before the caller knows
		}
	}()
	v, err := through.Do(&s.sendable, s.attempt)
	s.gone = false
	if err != nil {
		s.err = withStatus(withoutMarks(err))
		return
	}
	live, ok := v.(*established)
	if !ok {
		s.err = errNoAnswer // a layer of the user's
		return
	}
	s.live = live
}

// attempt is the pipeline's operation: it opens the stream, sends what the caller has sent so far, and waits for the
// first message or for the caller to send more than can be sent again.
func (s *stream) attempt(ctx context.Context) (v any, err error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	live := &established{ctx: ctx, cancel: cancel, desc: s.desc}
	kept := false
	defer func() {
		if !kept {
			cancel() // what sends on this attempt stops
			s.box.leave()
		}
	}()
	live.cs, err = s.streamer(unlimited{outgoing(ctx), s.sendable.Context}, s.desc, s.cc, s.method, live.evidence.options(s.opts, live.finished)...)
	if err == nil {
		if err = s.box.adopt(live.cs); err == nil {
			err = s.receive(ctx, live)
		}
	}
	if err != nil {
		return nil, s.failed(ctx, err, &live.evidence)
	}
	kept = true
	return live, nil
}

// receive waits for the first message.
func (s *stream) receive(ctx context.Context, live *established) error {
	select {
	case <-s.asked:
	case <-s.box.committed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	live.received = true
	live.first = live.cs.RecvMsg(s.first)
	if live.first == nil || live.first == io.EOF {
		return nil
	}
	return live.first
}

// RecvMsg implements grpc.ClientStream. The first one returns when the stream is established, or has failed.
func (s *stream) RecvMsg(m any) error {
	if !s.wanted {
		s.wanted = true
		s.first = m
		close(s.asked)
		<-s.settled
		if s.live != nil && s.live.received {
			return s.live.ended(s.live.first)
		}
	}
	if s.live == nil {
		return s.failure()
	}
	return s.live.recv(m)
}

// SendMsg implements grpc.ClientStream. Until the stream is established it keeps the message, which, as ever, must not
// be changed.
func (s *stream) SendMsg(m any) error { return s.box.send(m) }

// CloseSend implements grpc.ClientStream.
func (s *stream) CloseSend() error { return s.box.closeSend() }

// Header implements grpc.ClientStream. Who asks for it before the first message has what is sent by this attempt: none
// follows.
func (s *stream) Header() (metadata.MD, error) {
	cs := s.box.commit()
	if cs == nil {
		<-s.settled
		return nil, s.failure()
	}
	return cs.Header()
}

// Trailer implements grpc.ClientStream.
func (s *stream) Trailer() metadata.MD {
	if cs := s.box.latest(); cs != nil {
		return cs.Trailer()
	}
	return nil
}

// Context implements grpc.ClientStream: until the stream is established it is the caller's.
func (s *stream) Context() context.Context {
	select {
	case <-s.settled:
		if s.live != nil {
			return s.live.cs.Context()
		}
	default:
	}
	return s.sendable.Context
}

// failure returns why there is no stream, and panics if that is what an attempt did.
func (s *stream) failure() error {
	if s.thrown != nil {
		panic(s.thrown)
	}
	if s.gone {
		return errGone
	}
	return s.err
}
