package main

import (
	"context"
	"sync"
	"time"
)

// loads are the clients' calls: each client sends at the same fixed rate, whether or not earlier calls have ended. A
// client that was held up catches up, so that all of them send the same number.
type loads struct {
	running sync.WaitGroup // senders and their calls
	stop    chan struct{}
	once    sync.Once
}

func startLoads(ctx context.Context, rate int, clients []*client) *loads {
	l := &loads{stop: make(chan struct{})}
	for _, c := range clients {
		l.running.Go(func() { l.send(ctx, rate, c) })
	}
	return l
}

func (l *loads) send(ctx context.Context, rate int, c *client) {
	began, period := time.Now(), time.Second/time.Duration(rate)
	for item := 1; ; item++ {
		select {
		case <-time.After(time.Until(began.Add(time.Duration(item) * period))):
		case <-l.stop:
			return
		case <-ctx.Done():
			return
		}
		l.running.Go(func() {
			begun := c.tally.begin()
			err := c.get(ctx, item)
			if ctx.Err() == nil { // else the demo is interrupted: no fault of the client's
				begun.end(err)
			}
		})
	}
}

// finish ends the load and waits for the calls under way.
func (l *loads) finish() {
	l.once.Do(func() { close(l.stop) })
	l.wait()
}

func (l *loads) wait() { l.running.Wait() }
