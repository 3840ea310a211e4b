package resilience

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// observation is what a program saw of a context: something that must be the same, and an error.
type observation struct {
	what, err string
	ambiguous bool
}

var nobody = fmt.Sprint(error(nil))

// contextNode is a context of a program, and what may have ended it.
type contextNode struct {
	context.Context
	parent   *contextNode
	end      func()
	deadline time.Time       // its own
	ended    bool            // by end
	shields  bool            // its parent's end is not its own
	limits   bool            // as a Timeout does
	limited  *limitedContext // nil in the standard library's program
	nested   bool            // made inside its parent, by the same call: ends before
	sure     bool            // its end came first
	unsure   bool            // several things had ended it before anybody asked
}

// ends counts what has ended the node: deadlines, whose order is certain, and the rest.
func (n *contextNode) ends() (deadlines, others int) {
	for ; n != nil; n = n.parent {
		if !n.deadline.IsZero() && !time.Now().Before(n.deadline) {
			deadlines++
		}
		if n.ended {
			others++
		}
		if n.shields {
			break
		}
	}
	return deadlines, others
}

func (n *contextNode) ambiguous() bool {
	return n != nil && (n.unsure || !n.shields && n.parent.ambiguous())
}

type contextProgram struct {
	steps       []byte
	asked, ours bool
	nodes       []*contextNode
	stops       []func() bool
	ran         []int
	mu          sync.Mutex // guards ran
	seen        []observation
	spans       time.Duration // so far
}

func (p *contextProgram) choose(n int) int {
	if len(p.steps) == 0 {
		return 0
	}
	b := p.steps[0]
	p.steps = p.steps[1:]
	return int(b) % n
}

// span is a whole number of ms and some µs of its own, so that no two limits end at once: then the standard library's
// timers race.
func (p *contextProgram) span() time.Duration {
	p.spans++
	return time.Duration(1+p.choose(30))*time.Millisecond + p.spans*time.Microsecond
}

func (p *contextProgram) saw(n *contextNode, what string, err error) {
	p.seen = append(p.seen, observation{what, fmt.Sprint(err), n.ambiguous()})
}

func (p *contextProgram) add(n *contextNode) *contextNode {
	p.nodes = append(p.nodes, n)
	return n
}

// limit adds the context inside a Timeout.
func (p *contextProgram) limit(parent *contextNode, nested bool) {
	d := p.span()
	cause := &TimeoutError{Layer: fmt.Sprint("limit", len(p.nodes)), Limit: d}
	n := p.add(&contextNode{parent: parent, deadline: time.Now().Add(d), limits: true, nested: nested})
	if p.ours {
		n.limited = &limitedContext{outside: parent.Context, began: now(), layer: &timing{limit: d, cause: cause, nested: nested}}
		n.Context, n.end = n.limited, n.limited.finish
	} else {
		n.Context, n.end = context.WithTimeoutCause(parent.Context, d, cause)
	}
	if p.asked {
		n.Done()
	}
}

func (p *contextProgram) root() {
	n := p.add(&contextNode{end: func() {}})
	errRoot, base := errors.New("the root's cause"), context.WithValue(context.Background(), valueKey("a"), 1)
	switch p.choose(7) {
	case 0:
		n.Context = context.Background()
	case 1:
		ctx, cancel := context.WithCancelCause(base)
		n.Context, n.end = ctx, func() { cancel(errRoot) }
	case 2:
		d := p.span()
		n.deadline = time.Now().Add(d)
		n.Context, n.end = context.WithTimeoutCause(base, d, errRoot)
	case 3:
		ctx, cancel := context.WithCancel(base)
		n.Context, n.end = context.WithValue(ctx, valueKey("b"), 2), cancel
	case 4:
		foreign := newForeignContext(base)
		n.Context, n.end = foreign, foreign.cancel
	case 5:
		foreign := newForeignContext(base)
		n.Context, n.end = foreignWithAfterFunc{foreign}, foreign.cancel
	case 6:
		ctx, cancel := context.WithCancel(base)
		n.Context, n.end = &attemptContext{Context: ctx}, cancel
	}
}

func (p *contextProgram) run() {
	p.root()
	p.limit(p.nodes[0], false)
	for range p.choose(4) {
		p.limit(p.nodes[len(p.nodes)-1], p.choose(3) > 0)
	}
	for len(p.steps) > 0 {
		p.step(p.nodes[p.choose(len(p.nodes))])
		synctest.Wait()
		p.mark()
	}
	for i, n := range p.nodes {
		p.saw(n, fmt.Sprint("at last ", i), n.Err())
		p.saw(n, fmt.Sprint("at last, cause ", i), context.Cause(n))
	}
	for _, n := range slices.Backward(p.nodes) {
		p.finish(n)
	}
	synctest.Wait()
	for i, n := range p.nodes {
		_, ends := n.Deadline()
		p.saw(n, fmt.Sprint("after all ", i, ends), n.Err())
	}
	p.saw(nil, fmt.Sprint("ran ", p.ran), nil)
}

// mark notes which contexts several things have ended before anybody asked.
func (p *contextProgram) mark() {
	for _, n := range p.nodes {
		if n.limited == nil || n.limited.isReal.Load() || n.sure {
			continue
		}
		deadlines, others := n.ends()
		n.unsure = n.unsure || others > 0 && deadlines+others > 1
		n.sure = n.ended && !n.unsure
	}
}

func (p *contextProgram) step(n *contextNode) {
	i := slices.Index(p.nodes, n)
	switch p.choose(18) {
	case 0:
		select {
		case <-n.Done():
			p.saw(n, fmt.Sprint("done ", i), nil)
		default:
			p.saw(n, fmt.Sprint("open ", i), nil)
		}
	case 1:
		p.saw(n, fmt.Sprint("err ", i), n.Err())
	case 2, 3:
		p.saw(n, fmt.Sprint("cause ", i), context.Cause(n))
	case 4:
		d, ok := n.Deadline()
		p.saw(n, fmt.Sprint("deadline ", i, ok, ok && time.Until(d) != 0, d.UTC()), nil)
	case 5:
		p.saw(n, fmt.Sprint("values ", i, n.Value(valueKey("a")), n.Value(valueKey("b")), n.Value(valueKey("c")), n.Value(&foreignContext{})), nil)
	case 6:
		child := p.add(&contextNode{parent: n})
		ctx, cancel := context.WithCancelCause(n.Context)
		child.Context, child.end = ctx, func() { cancel(fmt.Errorf("child %d", i)) }
	case 7:
		d := p.span()
		child := p.add(&contextNode{parent: n, deadline: time.Now().Add(d)})
		child.Context, child.end = context.WithTimeout(n.Context, d)
	case 8:
		p.add(&contextNode{parent: n, Context: context.WithoutCancel(n.Context), shields: true, end: func() {}})
	case 9:
		p.add(&contextNode{parent: n, Context: context.WithValue(n.Context, valueKey("c"), i), end: func() {}})
	case 10:
		p.afterFunc(n)
	case 11:
		if len(p.stops) > 0 {
			p.saw(n, fmt.Sprint("stopped ", p.stops[p.choose(len(p.stops))]()), nil)
		}
	case 12, 13:
		time.Sleep(time.Duration(p.choose(12)) * time.Millisecond)
	case 14:
		if p.choose(3) == 0 {
			p.finish(n)
		}
	case 15:
		p.limit(n, false) // a call within the operation
	case 16:
		p.limit(n, n.limits && !n.ended) // the call that made n runs
	case 17:
		p.together(n)
	}
}

func (p *contextProgram) afterFunc(n *contextNode) {
	p.mu.Lock()
	k := len(p.ran)
	p.ran = append(p.ran, 0)
	p.mu.Unlock()
	p.stops = append(p.stops, context.AfterFunc(n.Context, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ran[k]++
	}))
}

// finish ends a context; those that the same call has made inside it have ended before.
func (p *contextProgram) finish(n *contextNode) {
	for _, inside := range p.nodes {
		if inside.nested && inside.parent == n && !inside.ended {
			p.finish(inside)
		}
	}
	n.end()
	n.ended = true
	p.mark()
}

// together asks the context from several goroutines at once.
func (p *contextProgram) together(n *contextNode) {
	var all sync.WaitGroup
	errs := make([]error, 4)
	for k := range errs {
		all.Go(func() {
			switch k {
			case 0:
				n.Done()
			case 1:
				n.Value(valueKey("a"))
			case 2:
				child, cancel := context.WithCancel(n)
				defer cancel()
				errs[k] = child.Err()
				return
			}
			errs[k] = n.Err()
		})
	}
	all.Wait()
	for _, err := range errs {
		p.saw(n, "together", err)
	}
}
