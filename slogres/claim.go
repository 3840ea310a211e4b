package slogres

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"sync"
	"weak"

	"github.com/telltale-go/telltale/events"
)

// ErrAttached: the handler is attached to the bus already, and would get each record twice.
var ErrAttached = errors.New("already attached to this bus")

// claims are the handlers that are attached, by bus. Buses are held weakly: one that is dropped while attached takes its
// claims along.
var claims struct {
	mu   sync.Mutex
	held map[claim]struct{}
}

type claim struct {
	bus     weak.Pointer[events.Bus]
	handler slog.Handler // nil: that of slog.Default
}

// take claims a handler for a bus; release gives it back. Handlers that Go cannot compare are not told apart from others
// and never refused.
func take(bus *events.Bus, h slog.Handler) (release func(), err error) {
	if h != nil && !reflect.ValueOf(h).Comparable() {
		return func() {}, nil
	}
	c := claim{weak.Make(bus), h}
	claims.mu.Lock()
	defer claims.mu.Unlock()
	if _, taken := claims.held[c]; taken {
		return nil, fmt.Errorf("slogres: Config.Handler is %w: detach first, or give another", ErrAttached)
	}
	if claims.held == nil {
		claims.held = make(map[claim]struct{})
	}
	claims.held[c] = struct{}{}
	cleanup := runtime.AddCleanup(bus, giveBack, c)
	return func() {
		cleanup.Stop()
		giveBack(c)
	}, nil
}

func giveBack(c claim) {
	claims.mu.Lock()
	defer claims.mu.Unlock()
	delete(claims.held, c)
}
