package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// reconnect is what a browser is told to wait before it connects again.
const reconnect = 2 * time.Second

// stream serves a viewer: server-sent events, until it leaves, is stuck for longer than a write may take, or the console is
// closed. Who comes back with the Last-Event-ID gets what was missed, as far as it is kept.
func (c *Console) stream(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	if r.Method == http.MethodHead {
		return
	}
	v, watch, err := c.enter(r)
	if err != nil {
		refuse(w, err)
		return
	}
	defer c.leave(v)
	s := &sender{w: w, rc: http.NewResponseController(w), console: c, watch: watch}
	s.begin(r.Header.Get("Last-Event-ID"))
	for s.flush() == nil {
		select {
		case <-v.wake:
			s.write(v.take())
		case <-v.ended:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// refuse says that there is no place for a viewer.
func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, "console: "+err.Error(), http.StatusServiceUnavailable)
}

// sender writes to one viewer. One goroutine uses it.
type sender struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	console *Console
	watch   *watch
	buf     bytes.Buffer

	sent uint64 // the newest event
	tick uint64 // the newest frame
}

// begin writes what the viewer has not seen yet.
func (s *sender) begin(lastID string) {
	fmt.Fprintf(&s.buf, "retry: %d\n\n", reconnect.Milliseconds())
	missed, last := s.console.log.since(s.console.after(lastID), filter{})
	s.events(missed)
	s.sent = last
	s.frame(0)
}

// after reads the number from the id of an event; 0 if another console gave it.
func (c *Console) after(id string) uint64 {
	epoch, number, _ := strings.Cut(id, ".")
	n, err := strconv.ParseUint(number, 10, 64)
	if epoch != c.epoch || err != nil {
		return 0
	}
	return n
}

func (s *sender) write(queue []*record, dropped uint64) {
	s.events(queue)
	s.frame(dropped)
}

func (s *sender) events(all []*record) {
	for _, r := range all {
		if r.ID <= s.sent {
			continue
		}
		b, err := json.Marshal(r)
		if err != nil {
			continue // it is JSON already
		}
		fmt.Fprintf(&s.buf, "id: %s.%d\nevent: event\ndata: %s\n\n", s.console.epoch, r.ID, b)
		s.sent = r.ID
	}
}

// frame writes what has changed since the frame that the viewer has.
func (s *sender) frame(dropped uint64) {
	f := s.watch.present()
	if f == nil || f.tick == s.tick {
		return
	}
	s.buf.WriteString("event: state\ndata: ")
	leftOut := s.watch.missing()
	leftOut.Others += dropped
	f.append(&s.buf, s.tick, leftOut)
	s.buf.WriteString("\n\n")
	s.tick = f.tick
}

// flush sends what was written. The error is that of a viewer which is gone or stuck, or of a server that cannot stream.
func (s *sender) flush() error {
	// Where deadlines are not supported a stuck viewer keeps its place: it still delays nobody else.
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.console.pace.write))
	if _, err := s.w.Write(s.buf.Bytes()); err != nil {
		return err
	}
	s.buf.Reset()
	return s.rc.Flush()
}
