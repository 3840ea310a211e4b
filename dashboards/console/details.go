package console

import (
	"fmt"
	"strings"

	"github.com/telltale-go/telltale/events"
)

// details tells the fields that have no column of their own, in a line for people: times with their unit, and none that is 0.
func details(fields []events.Field) string {
	var b strings.Builder
	for _, f := range fields {
		switch f.Key {
		case events.KeyEventName, events.KeyPipelineName, events.KeyLayerType, events.KeyExecution:
			continue
		case events.KeyLayerName:
			if !decides(fields) {
				continue // its own
			}
		}
		text := fmt.Sprint(f.Value)
		if v, ok := f.Value.(float64); ok {
			text = fmt.Sprintf("%.3g", v)
			if strings.HasSuffix(f.Key, "_s") {
				text = secondsText(v)
			}
			if v == 0 {
				continue
			}
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(shortKey(f.Key) + " " + text)
	}
	return b.String()
}

// decides tells whether the event is one of a pipeline's that names a layer: the one that decided.
func decides(fields []events.Field) bool {
	return fields[0].Value == events.ExecutionFinished{}.EventName()
}

// shortKey makes words of a key such as resilience.execution.attempts.
func shortKey(key string) string {
	key = strings.TrimSuffix(key, "_s")
	if i := strings.LastIndex(key, "resilience."); i >= 0 {
		key = key[i+len("resilience."):]
	}
	key = strings.TrimPrefix(strings.TrimPrefix(key, "circuit_breaker."), "execution.")
	return words(strings.ReplaceAll(key, ".", " "))
}
