package stories_test

import (
	"context"
	"errors"
	"runtime"
)

// remote is the other side of a story: a dependency that fails for as long as the story says.
type remote struct {
	down  int // how many calls still fail
	calls int // how many arrived
}

var errDown = errors.New("no answer")

// get answers a read.
func (r *remote) get(context.Context) (string, error) {
	r.calls++
	if r.down > 0 {
		r.down--
		return "", errDown
	}
	return "pong", nil
}

// ping answers a call that has no result.
func (r *remote) ping(ctx context.Context) error {
	_, err := r.get(ctx)
	return err
}

const always = 1 << 30 // calls that a remote is down for

// hang answers nothing until the caller gives up.
func hang(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// waitUntil lets other goroutines run until something holds.
func waitUntil(holds func() bool) {
	for !holds() {
		runtime.Gosched()
	}
}
