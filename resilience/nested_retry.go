package resilience

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
)

// maxNesting is of how many pipelines outside a pipeline warns.
const maxNesting = 16

// nesting tells once of each pipeline that a retry runs inside of, by name.
//
// It is noticed where it multiplies: when a call of the inner pipeline begins in an attempt whose number is in its context.
// That is each attempt but the first of the outer pipeline, and the first, too, where that one itself runs in such an
// attempt. So a call whose outer pipeline does not retry pays nothing, and is not noticed; nor is an operation that does not
// pass its context on. What uses the context of an attempt that has ended counts as inside it.
type nesting struct {
	told atomic.Pointer[[]string] // names; replaced when it grows
	mu   sync.Mutex               // guards changes of told
}

// first tells whether the pipeline outside was not told of.
func (n *nesting) first(outside string) bool {
	if n.has(outside) {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.has(outside) {
		return false
	}
	var names []string
	if p := n.told.Load(); p != nil {
		names = slices.Clip(*p)
	}
	names = append(names, outside)
	n.told.Store(&names)
	return true
}

// has tells whether nothing is to be told of the pipeline outside any more.
func (n *nesting) has(outside string) bool {
	p := n.told.Load()
	return p != nil && (len(*p) >= maxNesting || slices.Contains(*p, outside))
}

// nested notices that a call begins inside an attempt of another pipeline.
func (f *folded[T]) nested(ctx context.Context, attempt *attemptContext) {
	for attempt.retries == nil {
		outer, ok := attempt.Context.Value(attemptKey{}).(*attemptContext)
		if !ok {
			return
		}
		attempt = outer
	}
	outside := attempt.retries.Pipeline()
	if events.Nested(ctx) || !f.nesting.first(outside) {
		return // a handler's calls are no part of the attempt
	}
	warn(ctx, f.bus, f.source, Warning{Code: events.WarningNestedRetry, Message: fmt.Sprintf("the retry of pipeline %q runs inside an attempt of "+
		"pipeline %q, which retries, too: their attempts multiply; let one of the two retry", f.description.Name, outside)})
}

// retries tells whether a Retry of the pipeline may start a second attempt.
func (b *builder[T]) retries() bool {
	return slices.ContainsFunc(b.cfg.Layers, func(l Layer) bool {
		r, ok := l.(Retry)
		return ok && r.MaxAttempts != 1
	})
}

// newNesting returns what remembers of whom was told; nil for a pipeline without a retry. What is put together for one
// call shares one.
func (b *builder[T]) newNesting(shared bool) *nesting {
	switch {
	case !b.retries():
		return nil
	case shared:
		return &sharedSources.nesting
	}
	return new(nesting)
}
