package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/telltale-go/telltale/events"
)

// In a busy process there are more events than anybody can read: of those that are not transitions of breakers, this many
// a second are kept, and the others are counted.
const (
	debugsPerSecond = 100
	othersPerSecond = 200
)

// eventLog keeps the last events, as text: nothing of a call, an error or a source is held.
type eventLog struct {
	epoch string
	show  func(*record) // to the viewers

	mu      sync.Mutex // guards what follows; held while show runs, which keeps records in order and never waits
	last    uint64     // the number of the newest record
	debugs  ring
	others  ring
	second  int64  // the present one
	kept    [2]int // in it, of severity debug and of others
	leftOut [2]uint64
}

// record is one event as the page and the JSON have it.
type record struct {
	ID       uint64          `json:"id"`
	Severity events.Severity `json:"severity"`
	Event    json.RawMessage `json:"event"`
	Where    string          `json:"where"`   // pipeline and layer
	Details  string          `json:"details"` // what is in no column of the page, in a line

	Name     string    `json:"-"` // as in Event, like what follows
	Pipeline string    `json:"-"`
	At       time.Time `json:"-"`
	RowID    string    `json:"-"` // of the page's row
}

func newEventLog(epoch string, size int, show func(*record)) *eventLog {
	return &eventLog{epoch: epoch, show: show, debugs: ring{size: size}, others: ring{size: size}}
}

// add keeps an event and shows it to the viewers. Events of calls that subscribers make are not shown.
func (l *eventLog) add(e events.Event) {
	if e.Header().Nested {
		return
	}
	severity := events.SeverityOf(e)
	if !l.takes(e, severity) {
		return
	}
	r := newRecord(e, severity)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	r.ID = l.last
	r.RowID = fmt.Sprintf("e%s-%d", l.epoch, l.last)
	if severity == events.SeverityDebug {
		l.debugs.add(r)
	} else {
		l.others.add(r)
	}
	l.show(r)
}

// takes tells whether there is room for one more in this second.
func (l *eventLog) takes(e events.Event, severity events.Severity) bool {
	if _, ok := e.(events.BreakerStateChanged); ok {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now().Unix(); now != l.second {
		l.second, l.kept = now, [2]int{}
	}
	class, most := 0, debugsPerSecond
	if severity != events.SeverityDebug {
		class, most = 1, othersPerSecond
	}
	if l.kept[class] >= most {
		l.leftOut[class]++
		return false
	}
	l.kept[class]++
	return true
}

// since returns the kept records that are newer than the given one and that the filter lets through, the oldest first, and the
// number of the newest of all.
func (l *eventLog) since(id uint64, f filter) (found []*record, last uint64) {
	l.mu.Lock()
	all := append(slices.Clone(l.debugs.records), l.others.records...)
	last = l.last
	l.mu.Unlock()
	found = slices.DeleteFunc(all, func(r *record) bool { return r.ID <= id || !f.takes(r) })
	slices.SortFunc(found, func(a, b *record) int { return cmp.Compare(a.ID, b.ID) })
	return found, last
}

// missing is how many events there was no room for.
type missing struct {
	Debug  uint64 `json:"debug"`
	Others uint64 `json:"others"` // of severity info or higher, and what came too fast to tell
}

func (l *eventLog) missing() missing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return missing{Debug: l.leftOut[0], Others: l.leftOut[1]}
}

// ring keeps the last records, in no order.
type ring struct {
	size, next int
	records    []*record
}

func (r *ring) add(e *record) {
	if len(r.records) < r.size {
		r.records = append(r.records, e)
		return
	}
	r.records[r.next] = e
	r.next = (r.next + 1) % r.size
}

func newRecord(e events.Event, severity events.Severity) *record {
	r := &record{Severity: severity, At: e.Header().At, Name: e.EventName()}
	if s := e.Header().Source; s != nil {
		r.Pipeline, r.Where = s.Pipeline(), strings.Trim(s.Pipeline()+" / "+s.Layer(), " /")
	}
	var err error
	if r.Event, err = events.AppendJSON(nil, e); err != nil { // a number that JSON has not
		r.Event, _ = json.Marshal(map[string]any{"time": r.At, events.KeyEventName: r.Name,
			events.KeyPipelineName: r.Pipeline})
	}
	r.Details = details(events.Fields(e))
	return r
}
