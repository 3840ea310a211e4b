package resilience

import (
	"container/heap"
	"math/rand/v2"
	"time"
)

// server is a simulated dependency: so many workers, and a queue before them.
type server struct {
	free    []int64 // when each worker is
	service func() time.Duration
	limit   func() (timeout time.Duration) // nil: none
	full    int                            // how many calls it takes before it turns some away; 0: any number
	at      int64
	calls   simCalls
}

type simCall struct {
	end, began, round int64
	how               callEnd
}

// simCalls are the calls under way, the next to end first.
type simCalls []simCall

func (c simCalls) Len() int           { return len(c) }
func (c simCalls) Less(i, j int) bool { return c[i].end < c[j].end }
func (c simCalls) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *simCalls) Push(x any)        { *c = append(*c, x.(simCall)) }
func (c *simCalls) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

func newServer(workers int, service func() time.Duration) *server {
	return &server{free: make([]int64, workers), service: service}
}

// resize gives the server another number of workers.
func (s *server) resize(workers int) {
	for len(s.free) < workers {
		s.free = append(s.free, s.at)
	}
	s.free = s.free[:workers]
}

func flat(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// spread is between half and one and a half of d.
func spread(d time.Duration) func() time.Duration {
	random := rand.New(rand.NewPCG(1, 2))
	return func() time.Duration { return d/2 + time.Duration(random.Int64N(int64(d))) }
}

// call begins a call.
func (s *server) call(round int64) {
	c := simCall{began: s.at, round: round, how: callAnswered}
	if s.full > 0 && len(s.calls) >= s.full {
		c.end, c.how = s.at+int64(time.Millisecond), callTurnedAway
		heap.Push(&s.calls, c)
		return
	}
	first := 0
	for i, free := range s.free {
		if free < s.free[first] {
			first = i
		}
	}
	s.free[first] = max(s.at, s.free[first]) + int64(s.service())
	c.end = s.free[first]
	if s.limit != nil {
		if latest := s.at + int64(s.limit()); c.end > latest {
			c.end, c.how = latest, callTimedOut
		}
	}
	heap.Push(&s.calls, c)
}

// serve has so many rounds pass, with at most so many callers who come back at once; a call that finds the limit reached is
// refused.
func (s *server) serve(a *adaptation, rounds int, callers int) {
	for last := a.round.number + int64(rounds); a.round.number < last; {
		for len(s.calls) < min(int(a.limit), callers) {
			s.call(a.begin(s.at, int64(len(s.calls)+1)))
		}
		a.round.refused = a.round.refused || callers > int(a.limit)
		c := heap.Pop(&s.calls).(simCall)
		s.at = c.end
		a.end(c.round, s.at, s.at-c.began, c.how)
		a.look(s.at)
	}
}
