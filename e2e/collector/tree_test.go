package collector

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/telltale-go/telltale/events"
)

// tree writes the traces as text: a span a line, indented under its parent, attempts in the order of their numbers (hedged
// ones run on goroutines of their own, of which any may be first), others of their starts, with its status, its attributes
// that do not differ from run to run, and what it links to.
func tree(spans []ptrace.Span) string {
	spans = slices.Clone(spans)
	slices.SortFunc(spans, func(a, b ptrace.Span) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a.StartTimestamp(), b.StartTimestamp()), strings.Compare(line(a), line(b)))
	})
	names := map[pcommon.SpanID]string{}
	for _, s := range spans {
		names[s.SpanID()] = s.Name()
	}
	children := map[pcommon.SpanID][]ptrace.Span{}
	for _, s := range spans {
		children[s.ParentSpanID()] = append(children[s.ParentSpanID()], s)
	}
	var b strings.Builder
	var write func(parent pcommon.SpanID, indent string)
	write = func(parent pcommon.SpanID, indent string) {
		for _, s := range children[parent] {
			b.WriteString(indent + line(s))
			for _, l := range s.Links().All() {
				b.WriteString(" -> " + names[l.SpanID()])
			}
			b.WriteString("\n")
			for _, e := range s.Events().All() {
				b.WriteString(indent + "  * " + e.Name() + attributes(e.Attributes()) + "\n")
			}
			write(s.SpanID(), indent+"  ")
		}
	}
	write(pcommon.SpanID{}, "")
	return b.String()
}

func line(s ptrace.Span) string {
	text := s.Name()
	if c := s.Status().Code(); c != ptrace.StatusCodeUnset {
		text += " " + strings.ToUpper(c.String())
	}
	return text + attributes(s.Attributes())
}

// brief are the attributes that a tree shows, by the word that stands for them there.
var brief = map[string]string{
	"resilience.outcome":            "outcome",
	"resilience.execution.attempts": "attempts",
	"resilience.attempt.number":     "number",
	"resilience.attempt.kind":       "kind",
	"resilience.reason":             "reason",
	"resilience.layer.name":         "layer",
	"error.type":                    "error",
	"resilience.singleflight.role":  "role",
	"resilience.timeout.limit_s":    "limit",
}

func attributes(m pcommon.Map) string {
	var parts []string
	for key, v := range m.All() {
		if word, ok := brief[key]; ok {
			parts = append(parts, word+"="+v.AsString())
		}
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(" [%s]", strings.Join(parts, " "))
}

// number is an attempt's, 0 of other spans.
func number(s ptrace.Span) int64 {
	v, _ := s.Attributes().Get(events.KeyAttemptNumber)
	return v.Int()
}
