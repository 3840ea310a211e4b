package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/telltale-go/telltale/events"
)

// transitions keeps what the breakers did, and how many calls they refused. It is what a subscriber of one's own looks
// like.
type transitions struct {
	began    time.Time
	stop     func()
	mu       sync.Mutex // guards what follows
	seen     []events.BreakerStateChanged
	rejected map[events.Reason]int
}

func listen(bus *events.Bus, began time.Time) *transitions {
	t := &transitions{began: began}
	t.clear()
	changes := bus.BreakerStateChanged.Subscribe(func(_ context.Context, e events.BreakerStateChanged) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.seen = append(t.seen, e)
	})
	rejections := bus.CallRejected.Subscribe(func(_ context.Context, e events.CallRejected) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.rejected[e.Reason]++
	})
	t.stop = func() { changes(); rejections() }
	return t
}

func (t *transitions) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen, t.rejected = nil, map[events.Reason]int{}
}

// shownTransitions is how many are shown from the beginning and from the end.
const shownTransitions = 5

// report writes the breakers' transitions.
func (t *transitions) report(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintln(out, "\nThe breaker's transitions")
	if len(t.seen) == 0 {
		fmt.Fprintln(out, "  none")
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  at\tbreaker\ttransition\treason\tfailures of calls\tlast failure")
	for i, e := range t.seen {
		if hidden := len(t.seen) - 2*shownTransitions; hidden > 0 && i >= shownTransitions && i < shownTransitions+hidden {
			if i == shownTransitions {
				fmt.Fprintf(w, "  ...\t\t%d more of this kind\t\t\t\n", hidden)
			}
			continue
		}
		fmt.Fprintf(w, "  %.2fs\t%s\t%s -> %s\t%s\t%d of %d\t%s\n", e.At.Sub(t.began).Seconds(), e.Source.Layer(), e.From, e.To, e.Reason,
			e.Failures, e.Calls, events.ErrorType(e.Err))
	}
	w.Flush()
	fmt.Fprintf(out, "  calls it refused: %d while open, %d while probing\n", t.rejected[events.ReasonOpen], t.rejected[events.ReasonProbing])
}
