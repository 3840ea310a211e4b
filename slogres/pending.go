package slogres

import (
	"context"
	"sync"

	"github.com/telltale-go/telltale/events"
)

// pending keeps the contexts of what has started until it ends, without an allocation for each: ends come with no
// context of their own.
type pending[F events.Event] struct{ pool sync.Pool }

type kept[F events.Event] struct {
	ctx context.Context
	end func(F)
}

func newPending[F events.Event](tell func(context.Context, F)) *pending[F] {
	p := new(pending[F])
	p.pool.New = func() any {
		k := new(kept[F])
		k.end = func(f F) {
			ctx := k.ctx
			k.ctx = nil
			p.pool.Put(k) // first: tell may panic. The bus calls each end once
			tell(ctx, f)
		}
		return k
	}
	return p
}

// until returns the function that tells the end with ctx. It must be called once, or not at all.
func (p *pending[F]) until(ctx context.Context) (end func(F)) {
	k := p.pool.Get().(*kept[F])
	k.ctx = ctx
	return k.end
}
