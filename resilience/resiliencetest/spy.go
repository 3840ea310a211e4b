package resiliencetest

import (
	"context"
	"sync"

	"github.com/telltale-go/telltale/resilience"
)

// spy is a gate that lets every call through and notes what it is told.
type spy struct {
	mu       sync.Mutex // guards what follows
	calls    []resilience.Call
	contexts []context.Context
	settled  map[int64]int // by permit
	outcomes []resilience.Outcome
}

func (*spy) LayerInfo() resilience.LayerInfo { return resilience.LayerInfo{Type: "spy"} }

func (s *spy) Admit(ctx context.Context, call resilience.Call) (resilience.Permit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	s.contexts = append(s.contexts, ctx)
	return resilience.Permit{Token: int64(len(s.calls))}, nil
}

func (s *spy) Settle(_ context.Context, _ resilience.Call, permit resilience.Permit, outcome resilience.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settled == nil {
		s.settled = map[int64]int{}
	}
	s.settled[permit.Token]++
	s.outcomes = append(s.outcomes, outcome)
}

// read returns the calls and contexts seen, the outcomes, and whether each permit was settled once.
func (s *spy) read() (calls []resilience.Call, contexts []context.Context, outcomes []resilience.Outcome, each bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	each = len(s.settled) == len(s.calls)
	for _, n := range s.settled {
		each = each && n == 1
	}
	return s.calls, s.contexts, s.outcomes, each
}
