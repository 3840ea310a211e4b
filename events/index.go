package events

import "sync"

// indexes are given out process-wide, so that a source's index is its own whatever bus it is on.
var indexes indexPool

// indexPool gives out small numbers from 0 on, those first that were given back last.
type indexPool struct {
	mu   sync.Mutex // guards what follows
	next int
	free []int
}

func (p *indexPool) take() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		i := p.free[n-1]
		p.free = p.free[:n-1]
		return i
	}
	p.next++
	return p.next - 1
}

func (p *indexPool) give(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, i)
}
