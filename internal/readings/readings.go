// Package readings reads what the live sources of a bus tell of themselves, for adapters that show it at each scrape.
// Sources of equal names are one: how many are in a state, calls, limits and times add up; of the rest the greatest is
// told.
package readings

import (
	"strings"
	"time"

	"github.com/telltale-go/telltale/events"
)

// Reading is what the sources of a bus tell at one moment.
type Reading struct {
	Breakers map[string]*Breakers              // by layer
	Limiters map[string]*events.LimiterReading // by layer
	Budgets  map[string]*events.BudgetReading  // by name
	Keys     []Key                             // see [Keys]
}

// Breakers is what the breakers of one name tell.
type Breakers struct {
	In    [states]int64         // how many are in each, by events.State
	Spent [states]time.Duration // by events.State
	Calls int64

	StateChange, NextProbe, FailureRatio, Limit, Cooldown float64 // times in seconds, instants in Unix time
}

const states = len(events.BreakerReading{}.Spent)

// Reader reads a bus. Its fields are set once, before its first use; it is safe for concurrent use.
type Reader struct {
	Bus *events.Bus
	// Time returns what is kept of a breaker's source; nil for one that is not to be told.
	Time func(*events.Source) *Time
	// Keys tells keys apart; nil: none is told.
	Keys *Keys
}

// Read asks the live sources. No lock of the adapter's is held meanwhile. A reading that panics is left out, and failed
// is called with its source.
func (r *Reader) Read(failed func(s *events.Source, panicked any)) *Reading {
	all := &Reading{Breakers: map[string]*Breakers{}, Limiters: map[string]*events.LimiterReading{},
		Budgets: map[string]*events.BudgetReading{}}
	keyed := map[string][]events.KeyReading{}
	for _, s := range r.Bus.Sources() {
		func() {
			defer func() {
				if v := recover(); v != nil {
					failed(s, v)
				}
			}()
			r.source(all, keyed, s)
		}()
	}
	if r.Keys != nil {
		all.Keys = r.Keys.read(keyed)
	}
	return all
}

func (r *Reader) source(all *Reading, keyed map[string][]events.KeyReading, s *events.Source) {
	name := Label(s.Layer())
	if l, ok := s.Limiter(); ok {
		sum := at(all.Limiters, name)
		sum.Limit += l.Limit
		sum.Usage += l.Usage
		sum.Queued += l.Queued
	}
	if b, ok := s.Budget(); ok {
		sum := at(all.Budgets, name)
		sum.Available += b.Available
		sum.Limit += b.Limit
	}
	if t := r.Time(s); t != nil {
		if b, ok := s.Breaker(); ok {
			at(all.Breakers, name).add(b, t.add(b.Spent))
		}
	}
	if keys, ok := s.Keys(); ok && r.Keys != nil {
		for k := range keys {
			keyed[name] = append(keyed[name], k)
		}
	}
}

func (sum *Breakers) add(b events.BreakerReading, spent [states]time.Duration) {
	count(&sum.In, b)
	sum.Spent = spent
	sum.Calls += b.Calls
	sum.StateChange = max(sum.StateChange, unix(b.Since))
	sum.NextProbe = max(sum.NextProbe, unix(b.NextProbe))
	sum.FailureRatio = max(sum.FailureRatio, b.FailureRatio)
	sum.Limit = max(sum.Limit, b.Limit)
	sum.Cooldown = max(sum.Cooldown, b.Cooldown.Seconds())
}

// count adds a breaker, or the several that a reading stands for, to those in each state.
func count(in *[states]int64, b events.BreakerReading) {
	if b.In != [len(b.In)]int64{} {
		for state, n := range b.In {
			in[state] += n
		}
	} else if int(b.State) < len(in) {
		in[b.State]++
	}
}

func at[V any](all map[string]*V, name string) *V {
	if all[name] == nil {
		all[name] = new(V)
	}
	return all[name]
}

// unix returns a time as Unix seconds, 0 for none.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}

// Label makes a name fit for a label's value.
func Label(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }
