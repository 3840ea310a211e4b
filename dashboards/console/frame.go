package console

import (
	"bytes"
	"encoding/json"
	"slices"
)

// frame is the state as the viewers see it at one moment: the page's rows, each with the number of the frame in which it
// became what it is. A viewer gets the rows that are newer than the frame it has.
type frame struct {
	tick    uint64
	summary string
	rows    []row
	order   order
	ordered uint64 // the frame in which order became what it is
}

type row struct {
	id, html string
	tick     uint64
}

// order lists the ids of the rows of each table.
type order struct {
	Pipelines []string `json:"pipelines"`
	Breakers  []string `json:"breakers"`
	Limits    []string `json:"limits"`
}

func (o order) equal(p order) bool {
	return slices.Equal(o.Pipelines, p.Pipelines) && slices.Equal(o.Breakers, p.Breakers) && slices.Equal(o.Limits, p.Limits)
}

// nextFrame renders a state.
func nextFrame(last *frame, s *state) *frame {
	f := &frame{tick: 1}
	old := map[string]row{}
	if last != nil {
		f.tick = last.tick + 1
		for _, r := range last.rows {
			old[r.id] = r
		}
	}
	f.summary = render("summary", s)
	add := func(id, template string, data any) string {
		r := row{id, render(template, data), f.tick}
		if o, ok := old[id]; ok && o.html == r.html {
			r = o
		}
		f.rows = append(f.rows, r)
		return id
	}
	f.order = order{Pipelines: []string{}, Breakers: []string{}, Limits: []string{}}
	for i := range s.Pipelines {
		f.order.Pipelines = append(f.order.Pipelines, add(rowID(s.Pipelines[i].ID), "pipeline", &s.Pipelines[i]))
	}
	for i := range s.Breakers {
		f.order.Breakers = append(f.order.Breakers, add(rowID(s.Breakers[i].ID), "breaker", &s.Breakers[i]))
	}
	for i := range s.Limits {
		f.order.Limits = append(f.order.Limits, add(rowID(s.Limits[i].ID), "limit", &s.Limits[i]))
	}
	f.ordered = f.tick
	if last != nil && last.order.equal(f.order) {
		f.ordered = last.ordered
	}
	return f
}

// change is what a viewer is sent.
type change struct {
	Summary string   `json:"summary"`
	Rows    []string `json:"rows,omitempty"`
	Order   *order   `json:"order,omitempty"` // only if it is another
	LeftOut missing  `json:"events_left_out"`
}

// append writes what is newer than the frame with the number since, in a line.
func (f *frame) append(b *bytes.Buffer, since uint64, leftOut missing) {
	c := change{Summary: f.summary, LeftOut: leftOut}
	for _, r := range f.rows {
		if r.tick > since {
			c.Rows = append(c.Rows, r.html)
		}
	}
	if f.ordered > since {
		c.Order = &f.order
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(c) // strings only
	b.Truncate(b.Len() - 1)
}
