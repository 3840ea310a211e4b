package grpcres

import (
	"io"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"
)

// outbox keeps what the caller sends on a stream until that is established, so that the next attempt can send it, too.
type outbox struct {
	sending sync.Mutex // held while messages are sent: their order is that of the caller. Taken before mu
	mu      sync.Mutex // guards the rest; never held while something is sent
	changed sync.Cond  // current or over is another
	limit   int        // of messages
	sent    []any
	closed  bool              // CloseSend was called
	current grpc.ClientStream // of the attempt that is under way, nil between two
	last    grpc.ClientStream
	over    bool         // the pipeline has returned
	forgot  *atomic.Bool // what was sent is not remembered any more

	opened    chan struct{} // closed when the first attempt has a stream
	committed chan struct{} // closed when what was sent cannot be sent again
}

func (o *outbox) init(limit int, forgot *atomic.Bool) {
	o.limit, o.forgot = limit, forgot
	o.changed.L = &o.mu
	o.opened, o.committed = make(chan struct{}), make(chan struct{})
}

// adopt makes an attempt's stream the one that the caller sends on, after it was sent what there is. io.EOF, which
// means that the stream has failed, is no error here: receiving tells why.
func (o *outbox) adopt(cs grpc.ClientStream) error {
	o.sending.Lock()
	defer o.sending.Unlock()
	o.mu.Lock()
	messages, closed := o.sent, o.closed
	o.mu.Unlock()
	var err error
	for _, m := range messages {
		if err = cs.SendMsg(m); err != nil {
			break
		}
	}
	if err == nil && closed {
		err = cs.CloseSend()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil {
		close(o.opened)
	}
	o.current, o.last = cs, cs
	o.changed.Broadcast()
	if err == io.EOF {
		return nil
	}
	return err
}

// leave ends an attempt.
func (o *outbox) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.current = nil
}

// settle ends the keeping: live is the stream from now on, nil if there is none.
func (o *outbox) settle(live *established) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over, o.sent, o.current = true, nil, nil
	if live != nil {
		o.current, o.last = live.cs, live.cs
	}
	o.changed.Broadcast()
}

// place is what is to be done with a message.
type place uint8

const (
	placeSend    place = iota // it is sent, and that is all
	placeKeep                 // it is kept, and sent if there is a stream
	placeWait                 // it waits for the next attempt
	placeNowhere              // there is no stream
)

// send sends a message, or keeps it for the next attempt.
func (o *outbox) send(m any) error {
	for {
		o.sending.Lock()
		o.mu.Lock()
		what, cs := o.place(m), o.current
		if what == placeWait {
			o.sending.Unlock() // the next attempt needs it
			o.changed.Wait()
			o.mu.Unlock()
			continue
		}
		o.mu.Unlock()
		err := deliver(what, cs, func() error { return cs.SendMsg(m) })
		o.sending.Unlock()
		return err
	}
}

// deliver does with a message what is to be done with it.
func deliver(what place, cs grpc.ClientStream, send func() error) error {
	switch what {
	case placeNowhere:
		return io.EOF
	case placeKeep:
		if cs == nil {
			return nil
		}
		if err := send(); err != io.EOF { // that this attempt has failed is seen by receiving
			return err
		}
		return nil
	case placeSend, placeWait:
	}
	return send()
}

// place finds out what is to be done with a message, and keeps it if it is to be kept. mu is held.
func (o *outbox) place(m any) place {
	switch {
	case o.over && o.current == nil:
		return placeNowhere
	case o.over:
		return placeSend
	case len(o.sent) < o.limit && !o.forgot.Load():
		o.sent = append(o.sent, m)
		return placeKeep
	case o.current == nil:
		return placeWait
	}
	o.forget()
	return placeSend
}

// closeSend tells the server, or the next attempt's, that nothing more is sent.
func (o *outbox) closeSend() error {
	o.sending.Lock()
	defer o.sending.Unlock()
	o.mu.Lock()
	o.closed = true
	what, cs := placeKeep, o.current
	if o.over {
		what = placeSend
		if cs == nil {
			what = placeNowhere
		}
	}
	o.mu.Unlock()
	if what == placeNowhere {
		return nil // as a channel's own stream does
	}
	return deliver(what, cs, func() error { return cs.CloseSend() })
}

// commit has the present attempt be the last, once there is one, and returns its stream; nil if there is none.
func (o *outbox) commit() grpc.ClientStream {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.current == nil && !o.over {
		o.changed.Wait()
	}
	if !o.over {
		o.forget()
	}
	return o.current
}

// forget lets go of what was sent. mu is held.
func (o *outbox) forget() {
	if !o.forgot.Swap(true) {
		o.sent = nil
		close(o.committed)
	}
}

// latest returns the last attempt's stream, nil if there was none.
func (o *outbox) latest() grpc.ClientStream {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}
