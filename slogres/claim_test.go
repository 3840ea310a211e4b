package slogres

import (
	"errors"
	"log/slog"
	"runtime"
	"testing"
	"weak"

	"github.com/telltale-go/telltale/events"
)

func TestAHandlerIsAttachedOnceToABusUntilItIsDetached(t *testing.T) {
	bus, other, h := events.NewBus(), events.NewBus(), debugRecorder()
	for _, handler := range []slog.Handler{h, nil, slog.DiscardHandler} {
		detach := MustAttach(bus, Config{Handler: handler})
		if _, err := Attach(bus, Config{Handler: handler, Buffered: 8}); !errors.Is(err, ErrAttached) {
			t.Errorf("second Attach of %T: %v", handler, err)
		}
		MustAttach(other, Config{Handler: handler})()
		detach()
		detach()
		MustAttach(bus, Config{Handler: handler})()
	}
	for range 2 { // Go cannot compare these
		MustAttach(bus, Config{Handler: incomparable{h, nil}})
	}
}

type incomparable struct {
	slog.Handler
	_ []int
}

func TestABusThatIsDroppedTakesItsClaimsAlong(t *testing.T) {
	h := debugRecorder()
	c := func() claim {
		bus := events.NewBus()
		MustAttach(bus, Config{Handler: h})
		return claim{weak.Make(bus), h}
	}()
	for range 1000 {
		runtime.GC()
		runtime.Gosched() // cleanups run on a goroutine of the runtime's
		claims.mu.Lock()
		_, held := claims.held[c]
		claims.mu.Unlock()
		if !held {
			return
		}
	}
	t.Error("the claim is still held")
}
