package events

import (
	"context"
	"fmt"
	"time"
)

// identity is what telemetry tells a source by.
type identity struct{ pipeline, layer, typ string }

// namesakes counts the live sources of one identity on one bus.
type namesakes struct {
	live int
	told int // warnings since the first of those that live
	many bool
}

const (
	// manySources is how many sources of one identity can live before they seem to be made once a call.
	manySources = 100
	// maxDuplicates is how often it is told that an identity is not the only one, so that a name that is made and closed
	// all the time by many does not fill the logs.
	maxDuplicates = 100
)

// meet counts a source that comes and returns what there is to warn of: a code, or nothing. mu is held.
func (l *Lifetimes) meet(s *Source) (code string) {
	if s.namesakes {
		return ""
	}
	if l.namesakes == nil {
		l.namesakes = make(map[identity]*namesakes)
	}
	n := l.namesakes[s.identity]
	if n == nil {
		n = new(namesakes)
		l.namesakes[s.identity] = n
	}
	n.live++
	switch {
	case n.live > manySources && !n.many:
		n.many = true
		return WarningManySources
	case n.live > 1 && n.told < maxDuplicates && !n.many:
		n.told++
		return WarningDuplicateName
	}
	return ""
}

// part counts a source that goes. mu is held.
func (l *Lifetimes) part(s *remnant) {
	if s.namesakes {
		return
	}
	if n := l.namesakes[s.identity]; n != nil {
		if n.live--; n.live == 0 {
			delete(l.namesakes, s.identity)
		}
	}
}

// warnOfNamesakes publishes what meet said.
func (b *Bus) warnOfNamesakes(s *Source, code string) {
	name, message := s.pipeline, ""
	if s.layer != "" {
		name = s.layer
	}
	switch code {
	case WarningDuplicateName:
		message = fmt.Sprintf("another live %s on this bus has the name %q, so that telemetry cannot tell them apart: give each its own, "+
			"or make it once and share it", s.typ, name)
	case WarningManySources:
		message = fmt.Sprintf("more than %d of type %s with the name %q live at once: is one made for each call? Make it once and share it",
			manySources, s.typ, name)
	default:
		return
	}
	b.ConfigWarning.Publish(context.Background(), ConfigWarning{Meta{Source: s, At: time.Now()}, code, message})
}
