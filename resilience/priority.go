package resilience

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Priority tells how much a call matters when not all can be served. The classes are those of Google's SRE book (chapter
// 21, "Criticality"), there called CRITICAL_PLUS, CRITICAL, SHEDDABLE_PLUS and SHEDDABLE. A higher one compares greater.
//
// A [Bulkhead] with a queue, and so an [AdaptiveLimiter], serves the higher class first, and sheds a lower one to make
// room for a higher. An AdaptiveLimiter also has each class see its share of the limit. A [RateLimiter] does not look at
// it: who has a part of a rate is in no queue.
type Priority int8

const (
	// PrioritySheddable is for calls that are expected to fail often when load is high: prefetching, background work.
	PrioritySheddable Priority = iota - 2
	// PriorityLow is for calls that may fail now and then and come back later: batches, reports.
	PriorityLow
	// PriorityNormal is the default, also of a context without any.
	PriorityNormal
	// PriorityCritical is for the few calls whose failure hurts at once: checkout, health.
	PriorityCritical
)

const priorityClasses = int(PriorityCritical-PrioritySheddable) + 1

var priorityNames = [priorityClasses]string{"sheddable", "low", "normal", "critical"}

// String returns the class's name.
func (p Priority) String() string {
	if p != p.within() {
		return fmt.Sprintf("Priority(%d)", int8(p))
	}
	return priorityNames[p.class()]
}

// within returns the nearest class.
func (p Priority) within() Priority { return min(max(p, PrioritySheddable), PriorityCritical) }

// class counts the classes from the lowest, from 0.
func (p Priority) class() int { return int(p - PrioritySheddable) }

type priorityKey struct{}

// prioritiesInUse tells whether any context of the process has ever got a priority: until then nobody looks for one.
var prioritiesInUse atomic.Bool

// WithPriority returns a context whose calls have the priority p, and those that they make with it, too. A value that is
// no class means the nearest one.
func WithPriority(ctx context.Context, p Priority) context.Context {
	prioritiesInUse.Store(true)
	return context.WithValue(ctx, priorityKey{}, p.within())
}

// PriorityOf returns the priority that the context has from the innermost [WithPriority]; PriorityNormal if there is none.
func PriorityOf(ctx context.Context) Priority {
	if prioritiesInUse.Load() && ctx != nil {
		if p, ok := ctx.Value(priorityKey{}).(Priority); ok {
			return p
		}
	}
	return PriorityNormal
}
