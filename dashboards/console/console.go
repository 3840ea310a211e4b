package console

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// Console is the page of one bus: an [http.Handler]. It is safe for concurrent use.
type Console struct {
	bus   *events.Bus
	cfg   Config
	pace  pace
	began time.Time // history counts from here
	epoch string    // tells the events of this console from those of one before a restart

	histories   *events.Table[history]
	log         *eventLog
	transitions *events.Buffered
	warnings    *events.Buffered
	unobserve   func()

	mu       sync.Mutex // guards what follows; never held while something is written, or waited for
	watch    *watch     // nil: nobody looks
	lastLook time.Time  // when a page or a document was fetched last
	viewers  map[*viewer]struct{}
	servers  servers
	closed   bool
}

// pace is how fast time passes for a console; the tests of what takes long have it faster.
type pace struct {
	tick  time.Duration // between states
	idle  time.Duration // how long a look at a page or document lasts
	write time.Duration // how long a viewer may take to take what is written
}

var usualPace = pace{tick: time.Second, idle: 15 * time.Second, write: 10 * time.Second}

// Handler returns the console of a bus with the default [Config]. It never needs to be closed or detached. It panics if
// the bus is nil, or was not made by [events.NewBus].
func Handler(bus *events.Bus) http.Handler {
	c, err := New(bus, Config{})
	if err != nil {
		panic(err)
	}
	return c
}

// New returns the console of a bus. The error, a *resilience.ConfigError for each field, tells what is wrong with the
// configuration. A console that lives as long as its process needs no Close.
func New(bus *events.Bus, cfg Config) (*Console, error) { return newConsole(bus, cfg, usualPace) }

func newConsole(bus *events.Bus, cfg Config, p pace) (*Console, error) {
	if bus == nil {
		return nil, errors.New("console: nil bus: pass events.Default() or the bus that the pipelines were built with")
	}
	if !bus.Ready() {
		return nil, &resilience.ConfigError{Type: "console.Config", Field: "bus", Value: "a zero events.Bus", Allowed: "made by events.NewBus"}
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	c := &Console{
		bus: bus, cfg: cfg, pace: p, began: time.Now(), epoch: strconv.FormatUint(rand.Uint64(), 36),
		viewers: map[*viewer]struct{}{},
	}
	c.log = newEventLog(c.epoch, cfg.Events, c.show)
	c.histories = events.NewTable(bus, c.openHistory, nil)
	c.transitions = bus.BreakerStateChanged.SubscribeBuffered(transitionQueue, c.stateChanged)
	c.warnings = bus.ConfigWarning.SubscribeBuffered(transitionQueue, func(_ context.Context, e events.ConfigWarning) { c.log.add(e) })
	c.unobserve = c.observeSources()
	return c, nil
}

// transitionQueue is how many transitions of breakers may wait for being noted.
const transitionQueue = 256

// openHistory begins the history of a source that is the state of a breaker, or may be: what a source reads is not asked
// while it is made.
func (c *Console) openHistory(s *events.Source) *history {
	if s.Pipeline() != "" {
		return nil
	}
	return newHistory(c.cfg.History, time.Since(c.began))
}

func (c *Console) stateChanged(_ context.Context, e events.BreakerStateChanged) {
	if h := c.histories.Get(e.Source); h != nil {
		h.enter(e, e.At.Sub(c.began))
	}
	c.log.add(e)
}

// observeSources puts the coming and going of sources into the log, but for those that are there already.
func (c *Console) observeSources() (cancel func()) {
	var mu sync.Mutex // guards listed: news may come on other goroutines
	listed := map[uint64]bool{}
	for _, s := range c.bus.Sources() {
		listed[s.ID()] = true
	}
	return c.bus.Source.Observe(func(_ context.Context, e events.SourceAdded) func(context.Context, events.SourceRemoved) {
		mu.Lock()
		old := listed[e.Source.ID()]
		delete(listed, e.Source.ID())
		mu.Unlock()
		if !old {
			c.log.add(e)
		}
		return func(_ context.Context, e events.SourceRemoved) { c.log.add(e) }
	})
}

// Close ends the pages that are open and everything that the console listens to, and waits until nothing of it runs any more,
// or until ctx ends, whose error it then returns. What is asked of a closed console is answered by 503. Closing again waits
// again.
func (c *Console) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	w := c.watch
	var open []*viewer
	for v := range c.viewers {
		open = append(open, v)
	}
	c.mu.Unlock()
	c.unobserve()
	c.histories.Close()
	for _, v := range open {
		v.end()
	}
	if w != nil {
		w.end()
	}
	waits := []func(context.Context) error{c.transitions.Close, c.warnings.Close}
	if w != nil {
		waits = append(waits, w.wait)
	}
	for _, v := range open {
		waits = append(waits, v.wait)
	}
	for _, wait := range waits {
		if err := wait(ctx); err != nil {
			return fmt.Errorf("console: closing: %w", err)
		}
	}
	return nil
}
