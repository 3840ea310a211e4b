package console

import (
	"context"
	"sync"
	"time"

	"github.com/telltale-go/telltale/events"
)

// watch is a period in which somebody looks: what happens inside calls is listened to, and a goroutine reads it once a
// second. It begins with the first look and ends when nobody has looked for a while.
type watch struct {
	console *Console
	events  *events.Buffered
	table   *events.Table[traffic]
	cancel  func()
	stop    chan struct{}
	done    chan struct{} // closed when nothing of the watch runs any more
	once    sync.Once

	mu      sync.Mutex // guards what follows, and the sampled part of traffic
	slot    int
	lasted  [seconds]time.Duration // the slots of traffic
	sampled time.Time
	frame   *frame // what the viewers see; each one is never changed
}

// eventQueue is how many events may wait for being noted, beside the news of the sources.
const eventQueue = 1024

// look notes that somebody looks, and begins a watch if there is none. It returns nil once the console is closed.
func (c *Console) look() *watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.lastLook = time.Now()
	return c.watching()
}

// watching returns the watch, which it begins if there is none. mu is held.
func (c *Console) watching() *watch {
	if c.watch == nil {
		w := &watch{console: c, stop: make(chan struct{}), done: make(chan struct{}), sampled: time.Now()}
		w.table = events.NewTable(c.bus, newTraffic, nil)
		w.cancel = listen(c.bus, w.table)
		w.events = events.NewBuffered(c.bus, eventQueue+len(c.bus.Sources()), w.hear) // which it is told first
		c.watch = w
		go w.run(c.pace.tick)
	}
	return c.watch
}

// hear keeps what happens within calls; what else there is comes to the console all the time.
func (w *watch) hear(_ context.Context, e events.Event) {
	switch e.(type) {
	case events.BreakerStateChanged, events.ConfigWarning, events.SourceAdded, events.SourceRemoved:
	default:
		w.console.log.add(e)
	}
}

func (w *watch) run(tick time.Duration) {
	defer w.leave()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		w.draw()
		select {
		case <-ticker.C:
		case <-w.stop:
			return
		}
		if !w.console.watched(w) {
			return
		}
		w.sample()
	}
}

// watched tells whether somebody still looks; if not the watch is none any more.
func (c *Console) watched(w *watch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.viewers) > 0 || time.Since(c.lastLook) < c.pace.idle {
		return true
	}
	c.watch = nil
	return false
}

// leave ends what the watch listens to.
func (w *watch) leave() {
	defer close(w.done)
	w.console.mu.Lock()
	if w.console.watch == w {
		w.console.watch = nil
	}
	w.console.mu.Unlock()
	w.cancel()
	w.table.Close()
	_ = w.events.Close(context.Background()) // its handler never waits for anybody
}

func (w *watch) end() { w.once.Do(func() { close(w.stop) }) }

func (w *watch) wait(ctx context.Context) error {
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sample reads what was counted in the last second.
func (w *watch) sample() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.slot = (w.slot + 1) % seconds
	w.lasted[w.slot], w.sampled = now.Sub(w.sampled), now
	for t := range w.table.All {
		t.sample(w.slot)
	}
}

// measured returns how long the slots lasted together: 0 in the first second. mu is held.
func (w *watch) measured() time.Duration {
	var all time.Duration
	for _, d := range w.lasted {
		all += d
	}
	return all
}

// missing returns how many events were left out since the watch began, or before.
func (w *watch) missing() missing {
	m := w.console.log.missing()
	m.Others += w.events.Dropped()
	return m
}

// draw renders the state for the viewers and wakes them.
func (w *watch) draw() {
	state := w.console.state(w)
	w.mu.Lock()
	w.frame = nextFrame(w.frame, state)
	w.mu.Unlock()
	w.console.mu.Lock()
	defer w.console.mu.Unlock()
	for v := range w.console.viewers {
		v.rouse()
	}
}

// present returns the newest frame, nil before the first.
func (w *watch) present() *frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frame
}
