package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/telltale-go/telltale/events"
)

//go:embed assets
var assets embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"rowID":   rowID,
	"words":   words,
	"percent": func(v float64) string { return strconv.FormatFloat(100*v, 'f', 0, 64) + " %" },
	"rate":    rateText,
	"seconds": secondsText,
	"clock":   func(t time.Time) string { return t.Format("15:04:05") },
	"rfc3339": func(t time.Time) string { return t.Format(time.RFC3339Nano) },
	"zone":    func(t time.Time) string { return t.Format("MST") },
	"bars":    bars,
	"shares":  shares,
	"icon":    icon,
}).ParseFS(assets, "assets/*.html"))

// view is what the whole page is made from.
type view struct {
	*state
	Events     []*record // the newest first
	Names      []string  // of the kinds of events
	Severities []events.Severity
	Filter     filter
	Refresh    uint64 // seconds between reloads of a page without scripts, 0: none
	History    string
}

// newView prepares the page. Without scripts it shows at most mostRows events.
func (c *Console) newView(s *state, f filter, refresh uint64) view {
	v := view{state: s, Filter: f, Refresh: refresh, History: secondsText(c.cfg.History.Seconds()),
		Severities: []events.Severity{events.SeverityDebug, events.SeverityInfo, events.SeverityWarn, events.SeverityError}}
	for _, e := range events.Catalogue() {
		v.Names = append(v.Names, e.Name)
	}
	all, _ := c.log.since(0, f)
	for i := len(all) - 1; i >= 0 && len(v.Events) < mostRows; i-- {
		v.Events = append(v.Events, all[i])
	}
	return v
}

const mostRows = 200

// render executes a template. What it is given cannot make it fail; if it does, the page says so.
func render(name string, data any) string {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		return "<p>console: " + template.HTMLEscapeString(err.Error()) + "</p>"
	}
	return strings.TrimSpace(b.String())
}

func rowID(id uint64) string { return "s" + strconv.FormatUint(id, 10) }

// words makes words of a name such as circuit_breaker.
func words(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") }

// icon returns the name of the picture for a type of layer; one that is not known has a plain one.
func icon(layerType string) string {
	switch layerType {
	case events.TypeRetry, events.TypeBreaker, events.TypeTimeout, events.TypeBulkhead, events.TypeRateLimiter, events.TypeAdaptiveLimiter,
		events.TypeHedge, events.TypeSingleflight, events.TypeFallback, events.TypeChaos, events.TypeRetryBudget:
		return "i-" + layerType
	}
	return "i-other"
}

// rateText tells how often a second, with as many digits as matter.
func rateText(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// secondsText tells a duration with two or three digits.
func secondsText(v float64) string {
	d := time.Duration(v * float64(time.Second))
	switch {
	case v == 0:
		return "0 s"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(v*1000, 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatFloat(v*1000, 'f', 0, 64) + " ms"
	case d < 9950*time.Millisecond:
		return strconv.FormatFloat(v, 'f', 1, 64) + " s"
	case d < 2*time.Minute:
		return strconv.FormatFloat(v, 'f', 0, 64) + " s"
	case d < 2*time.Hour:
		return strconv.FormatFloat(d.Minutes(), 'f', 0, 64) + " min"
	}
	return strconv.FormatFloat(d.Hours(), 'f', 0, 64) + " h"
}

// bar is a rectangle of a timeline: a state has a height beside its colour.
type bar struct {
	X, Width, Y, Height float64
	State               events.State
}

// barsHeight is the height of the timeline's picture, columns is its width.
const barsHeight = 24

// bars draws a timeline.
func bars(s shared) []bar {
	var all []bar
	if len(s.Timeline) == 0 {
		return nil
	}
	column := s.Length / columns
	for _, t := range s.Timeline {
		b := bar{X: columns - t.From/column, Width: (t.From - t.To) / column, State: t.State}
		switch t.State {
		case events.StateOpen, events.StateForcedOpen:
			b.Height = barsHeight
		case events.StateHalfOpen:
			b.Height = barsHeight * 2 / 3
		case events.StateDisabled:
			b.Height = barsHeight / 6
		case events.StateClosed:
			b.Height = barsHeight / 3
		}
		b.Y = barsHeight - b.Height
		all = append(all, b)
	}
	return all
}

// share is the part of a pipeline's calls that has one outcome.
type share struct {
	Outcome   events.Outcome
	PerSecond float64
	X, Width  float64 // in percent
}

// shares splits a pipeline's calls by outcome, those that there are.
func shares(r *rates) []share {
	var all []share
	x := 0.0
	for _, o := range events.Outcomes() {
		v := r.ByOutcome[o.String()]
		if v == 0 || r.PerSecond == 0 {
			continue
		}
		width := 100 * v / r.PerSecond
		all = append(all, share{o, v, x, width})
		x += width
	}
	return all
}
