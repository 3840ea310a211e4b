package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// report writes the trace most worth showing, as a tree.
func (t *traces) report(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintln(out, "\nOne trace")
	if len(t.best) == 0 {
		fmt.Fprintln(out, "  none")
		return
	}
	n := newTree(t.best)
	fmt.Fprintf(out, "  trace %s\n", n.root.SpanContext().TraceID())
	n.write(out, n.root, "  ", "  ")
}

// tree is a trace's spans by their parents.
type tree struct {
	root     sdktrace.ReadOnlySpan
	children map[trace.SpanID][]sdktrace.ReadOnlySpan
}

func newTree(spans []sdktrace.ReadOnlySpan) *tree {
	n := &tree{children: map[trace.SpanID][]sdktrace.ReadOnlySpan{}}
	for _, s := range spans {
		if !s.Parent().IsValid() {
			n.root = s
			continue
		}
		n.children[s.Parent().SpanID()] = append(n.children[s.Parent().SpanID()], s)
	}
	for _, c := range n.children {
		slices.SortFunc(c, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	}
	return n
}

// entry is a child span or a span event, in the order of time.
type entry struct {
	at   time.Time
	span sdktrace.ReadOnlySpan // nil: an event
	text string
}

func (n *tree) write(out io.Writer, s sdktrace.ReadOnlySpan, first, rest string) {
	at := s.StartTime().Sub(n.root.StartTime())
	fmt.Fprintf(out, "%s%s  +%s, took %s  %s\n", first, s.Name(), milliseconds(at), milliseconds(s.EndTime().Sub(s.StartTime())), spanText(s))
	entries := n.entries(s)
	for i, e := range entries {
		branch, below := "├─ ", "│  "
		if i == len(entries)-1 {
			branch, below = "└─ ", "   "
		}
		if e.span != nil {
			n.write(out, e.span, rest+branch, rest+below)
			continue
		}
		fmt.Fprintf(out, "%s%s%s  +%s\n", rest, branch, e.text, milliseconds(e.at.Sub(n.root.StartTime())))
	}
}

func (n *tree) entries(s sdktrace.ReadOnlySpan) []entry {
	var all []entry
	for _, c := range n.children[s.SpanContext().SpanID()] {
		all = append(all, entry{at: c.StartTime(), span: c})
	}
	for _, e := range s.Events() {
		text := "· " + e.Name
		for _, a := range e.Attributes {
			if strings.HasPrefix(string(a.Key), "exception.") || strings.HasSuffix(string(a.Key), ".name") {
				continue
			}
			text += fmt.Sprintf(" %s=%v", short(string(a.Key)), a.Value.AsInterface())
		}
		all = append(all, entry{at: e.Time, text: text})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	return all
}

// shown are the attributes that the tree shows of a span.
var shown = []string{"resilience.outcome", "resilience.execution.attempts", "resilience.attempt.number", "resilience.attempt.kind",
	"resilience.retry.delay_s", "resilience.execution.backoff_s", "resilience.execution.queued_s", "resilience.reason", "error.type",
	"http.response.status_code"}

func spanText(s sdktrace.ReadOnlySpan) string {
	var parts []string
	for _, key := range shown {
		for _, a := range s.Attributes() {
			if string(a.Key) == key {
				parts = append(parts, fmt.Sprintf("%s=%v", short(key), a.Value.AsInterface()))
			}
		}
	}
	return strings.Join(parts, " ")
}

// short is an attribute's last word, for a line that a person reads.
func short(key string) string {
	words := strings.Split(key, ".")
	if key == "error.type" {
		return key
	}
	return words[len(words)-1]
}
