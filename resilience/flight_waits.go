package resilience

import (
	"context"
	"slices"
	"sync"
)

// aloft is what a flight is to others: the context of its run, and the flights that calls made inside it follow. Two that
// waited for each other would do so for ever, since neither's last caller could leave.
type aloft struct {
	context.Context          // of the leader, without its end
	follows         []*aloft // guarded by following
}

// following guards who follows whom, in the whole process: only a call made inside a flight that follows another takes it.
var following sync.Mutex

type aloftKey struct{}

// flightOf returns the innermost flight inside of which ctx was made, nil if there is none.
func flightOf(ctx context.Context) *aloft {
	a, _ := ctx.Value(aloftKey{}).(*aloft)
	return a
}

// follow notes that a call made inside a, and so inside of all around it, waits for f; false if f waits for one of them.
func (a *aloft) follow(f *aloft) bool {
	var around []*aloft
	for in := a; in != nil; in = flightOf(in.Context) {
		around = append(around, in)
	}
	following.Lock()
	defer following.Unlock()
	if f.waitsForAny(around, make(map[*aloft]bool)) {
		return false
	}
	for _, in := range around {
		in.follows = append(in.follows, f)
	}
	return true
}

// waitsForAny tells whether a is one of them, or waits for one. following is held.
func (a *aloft) waitsForAny(them []*aloft, seen map[*aloft]bool) bool {
	if seen[a] {
		return false
	}
	seen[a] = true
	return slices.Contains(them, a) || slices.ContainsFunc(a.follows, func(f *aloft) bool { return f.waitsForAny(them, seen) })
}

// followed undoes follow.
func (a *aloft) followed(f *aloft) {
	for in := a; in != nil; in = flightOf(in.Context) {
		following.Lock()
		if i := slices.Index(in.follows, f); i >= 0 {
			in.follows = slices.Delete(in.follows, i, i+1)
		}
		following.Unlock()
	}
}
