package console

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/telltale-go/telltale/events"
)

// filter says which events are asked for. The zero value takes all.
type filter struct {
	Pipeline string
	Event    string          // the event's name
	Severity events.Severity // at least
}

func (f filter) takes(r *record) bool {
	return (f.Pipeline == "" || f.Pipeline == r.Pipeline) && (f.Event == "" || f.Event == r.Name) && r.Severity >= f.Severity
}

// parseFilter reads a filter from a query; the error is for whoever asks.
func parseFilter(q url.Values) (f filter, err error) {
	f.Pipeline, f.Event = q.Get("pipeline"), q.Get("event")
	if s := q.Get("severity"); s != "" && f.Severity.UnmarshalText([]byte(s)) != nil {
		return f, fmt.Errorf("severity: want debug, info, warn or error")
	}
	if f.Event != "" && !known(f.Event) {
		return f, fmt.Errorf("event: want the name of an event, such as %s", events.BreakerStateChanged{}.EventName())
	}
	return f, nil
}

func known(name string) bool {
	for _, e := range events.Catalogue() {
		if e.Name == name {
			return true
		}
	}
	return false
}

// parseNumber reads a number that is not negative; the absent one is 0.
func parseNumber(q url.Values, key string, most uint64) (uint64, error) {
	s := q.Get(key)
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > most {
		return 0, fmt.Errorf("%s: want a whole number, 0 to %d", key, most)
	}
	return n, nil
}
