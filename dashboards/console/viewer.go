package console

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"weak"

	"github.com/telltale-go/telltale/events"
)

// viewerQueue is how many events may wait for one viewer; more are dropped and counted.
const viewerQueue = 256

// viewer is one open page. Whoever has news for it leaves them and never waits; the goroutine of its request writes.
type viewer struct {
	server *http.Server // that serves it, nil if that is not known
	wake   chan struct{}
	ended  chan struct{} // closed when the viewer is to leave
	left   chan struct{} // closed when its goroutine is done
	once   sync.Once

	mu      sync.Mutex // guards what follows
	queue   []*record
	dropped uint64
}

var (
	errFull   = errors.New("too many pages are open")
	errClosed = errors.New("the console is closed")
)

// enter adds a viewer, which keeps the watch alive until it leaves.
func (c *Console) enter(r *http.Request) (*viewer, *watch, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, errClosed
	}
	if len(c.viewers) >= c.cfg.MaxViewers {
		return nil, nil, errFull
	}
	v := &viewer{wake: make(chan struct{}, 1), ended: make(chan struct{}), left: make(chan struct{})}
	v.server, _ = r.Context().Value(http.ServerContextKey).(*http.Server)
	c.endOnShutdown(v.server)
	c.viewers[v] = struct{}{}
	return v, c.watching(), nil
}

func (c *Console) leave(v *viewer) {
	c.mu.Lock()
	delete(c.viewers, v)
	c.mu.Unlock()
	close(v.left)
}

// servers are those that end their viewers when they shut down.
type servers map[weak.Pointer[http.Server]]struct{}

// endOnShutdown has the viewers of a server leave when it shuts down: it would wait for them for as long as they like to
// look. mu is held.
func (c *Console) endOnShutdown(s *http.Server) {
	if s == nil {
		return
	}
	key := weak.Make(s)
	if _, ok := c.servers[key]; ok {
		return
	}
	for k := range c.servers {
		if k.Value() == nil {
			delete(c.servers, k)
		}
	}
	if c.servers == nil {
		c.servers = servers{}
	}
	c.servers[key] = struct{}{}
	s.RegisterOnShutdown(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for v := range c.viewers {
			if v.server == key.Value() {
				v.end()
			}
		}
	})
}

// show leaves an event for every viewer.
func (c *Console) show(r *record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for v := range c.viewers {
		v.put(r)
	}
}

func (v *viewer) put(r *record) {
	v.mu.Lock()
	if len(v.queue) < viewerQueue {
		v.queue = append(v.queue, r)
	} else {
		v.dropped++
	}
	v.mu.Unlock()
	// The end of a source may be told by the garbage collector, whose goroutine must not touch the channel of a synctest
	// bubble: it goes out with the next state.
	if r.Name != (events.SourceRemoved{}).EventName() {
		v.rouse()
	}
}

// take returns what waits, and how many events were dropped so far.
func (v *viewer) take() (queue []*record, dropped uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	queue, v.queue = v.queue, nil
	return queue, v.dropped
}

// rouse tells the viewer that there is something to write.
func (v *viewer) rouse() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

func (v *viewer) end() { v.once.Do(func() { close(v.ended) }) }

func (v *viewer) wait(ctx context.Context) error {
	select {
	case <-v.left:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
