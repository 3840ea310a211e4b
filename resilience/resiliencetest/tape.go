package resiliencetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// Tape returns what was recorded as text, an event a line: its name, who tells it, its key and what it tells. Left out is
// what differs from run to run: times, the durations of what ran, and the numbers of executions; and the coming and going
// of sources.
//
//	retry.scheduled users.get/retry attempt=1 delay_s=0.1 error.type=timeout
func (r *Recorder) Tape() string { return tape(r.Events()) }

func tape(all []events.Event) string {
	var lines []string
	for _, e := range all {
		switch e.(type) {
		case events.SourceAdded, events.SourceRemoved:
		default:
			lines = append(lines, line(e))
		}
	}
	return strings.Join(lines, "\n")
}

// unstable are fields that differ from run to run.
var unstable = []string{events.KeyExecution, events.KeyFlightLeader, events.KeyDuration, events.KeyWorking, events.KeyBackoff, events.KeyQueued, events.KeyRetryAfter}

func line(e events.Event) string {
	parts := []string{e.EventName()}
	m := e.Header()
	if s := m.Source; s != nil {
		parts = append(parts, strings.Trim(s.Pipeline()+"/"+s.Layer(), "/"))
	}
	if m.Key != "" {
		parts = append(parts, "key="+m.Key)
	}
	for _, f := range events.Fields(e) {
		switch {
		case f.Key == events.KeyEventName || f.Key == events.KeyPipelineName || f.Key == events.KeyLayerName || f.Key == events.KeyLayerType,
			slices.Contains(unstable, f.Key):
		default:
			parts = append(parts, fmt.Sprintf("%s=%v", strings.TrimPrefix(f.Key, "resilience."), f.Value))
		}
	}
	return strings.Join(parts, " ")
}

// WantTape reports an error unless the tape is want. Blanks around want and at the beginning of its lines do not count.
func WantTape(t testing.TB, r *Recorder, want string) {
	t.Helper()
	var lines []string
	for l := range strings.Lines(strings.TrimSpace(want)) {
		lines = append(lines, strings.TrimSpace(l))
	}
	got, wanted := r.Tape(), strings.Join(lines, "\n")
	if got == wanted {
		return
	}
	gots := strings.Split(got, "\n")
	n := 0
	for n < len(gots) && n < len(lines) && gots[n] == lines[n] {
		n++
	}
	t.Errorf("the events are others than wanted, from line %d on\ngot:\n%s\nwanted:\n%s", n+1, indented(got), indented(wanted))
}

func indented(text string) string {
	if text == "" {
		return "    (none)"
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
