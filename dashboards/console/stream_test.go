package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAViewerGetsTheStateEachSecondAndEventsAsTheyCome(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		p := r.pipeline("users.get")
		viewer := r.connect("")
		first := viewer.read()
		if len(named(first, "state")) != 1 || !strings.Contains(first[len(first)-1].data, "users.get") {
			t.Fatalf("first: %+v", first)
		}
		for range 5 {
			time.Sleep(time.Second)
			synctest.Wait()
			if got := viewer.read(); len(named(got, "state")) != 1 {
				t.Errorf("in a second: %+v", got)
			}
		}
		_, _ = p.Do(r.t.Context(), succeed)
		synctest.Wait()
		var names []string
		for _, m := range named(viewer.read(), "event") {
			var e struct{ Event map[string]any }
			if err := json.Unmarshal([]byte(m.data), &e); err != nil {
				t.Fatal(err)
			}
			names = append(names, e.Event["event.name"].(string))
		}
		if got := fmt.Sprint(names); got != "[execution.started attempt.started attempt.finished execution.finished]" {
			t.Errorf("events of a call: %s", got)
		}
		viewer.leave()
		<-viewer.gone
	})
}

// What has not changed is not sent again: a hundred pipelines at rest cost a line a second.
func TestAViewerGetsOnlyTheRowsThatChanged(t *testing.T) {
	inBubble(t, Config{History: time.Minute}, func(r *rig) {
		for i := range 100 {
			r.pipeline(fmt.Sprint("p", i))
		}
		b := r.breaker("b")
		viewer := r.connect("")
		time.Sleep(65 * time.Second) // until the breaker's timeline is full, and stands still
		synctest.Wait()
		viewer.read()
		sent := func() change {
			time.Sleep(time.Second)
			synctest.Wait()
			var c change
			all := named(viewer.read(), "state")
			if err := json.Unmarshal([]byte(all[len(all)-1].data), &c); err != nil {
				t.Fatal(err)
			}
			return c
		}
		if c := sent(); len(c.Rows) != 0 || c.Order != nil {
			t.Errorf("at rest: %d rows, order %v", len(c.Rows), c.Order)
		}
		b.ForceOpen()
		if c := sent(); len(c.Rows) != 1 || !strings.Contains(c.Rows[0], "forced open") || c.Order != nil {
			t.Errorf("after a transition: %+v", c)
		}
		p := r.pipeline("another")
		if c := sent(); len(c.Rows) > 2 || // one is the breaker's, whose timeline moves
			c.Order == nil || len(c.Order.Pipelines) != 101 {
			t.Errorf("after a new pipeline: %d rows, %v", len(c.Rows), c.Order)
		}
		_ = p.Close(r.t.Context())
		if c := sent(); len(c.Rows) > 1 || c.Order == nil || len(c.Order.Pipelines) != 100 {
			t.Errorf("after its end: %d rows, %v", len(c.Rows), c.Order)
		}
		viewer.leave()
		<-viewer.gone
	})
}

func TestAtMostSoManyViewers(t *testing.T) {
	inBubble(t, Config{MaxViewers: 3}, func(r *rig) {
		var open []*browser
		for range 3 {
			open = append(open, r.connect(""))
		}
		refused := r.connect("")
		<-refused.gone
		if refused.status != http.StatusServiceUnavailable || refused.header.Get("Retry-After") != "5" {
			t.Errorf("one too many: %d %v", refused.status, refused.header)
		}
		if s := r.getState(); s.Viewers != 3 || s.MaxViewers != 3 {
			t.Errorf("%d of %d", s.Viewers, s.MaxViewers)
		}
		open[0].leave()
		<-open[0].gone
		again := r.connect("")
		if len(again.read()) == 0 {
			t.Error("a place that became free is not given again")
		}
		for _, b := range append(open, again) {
			b.leave()
			<-b.gone
		}
	})
}

// A browser that takes nothing delays nobody, and loses its place.
func TestAStuckViewerIsDroppedAndDelaysNobody(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		p := r.pipeline("users.get")
		stuck, other := r.connect(""), r.connect("")
		stuck.stick()
		began := time.Now()
		for range 1000 {
			_, _ = p.Do(r.t.Context(), fail)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("calls waited %v for a browser", took)
		}
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if n := len(named(other.read(), "state")); n < 9 {
			t.Errorf("the other viewer got %d states in 9 s", n)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		select {
		case <-stuck.gone:
		default:
			t.Error("a viewer that took nothing for 12 s keeps its place")
		}
		other.leave()
		<-other.gone
	})
}

func TestWhatAViewerCannotTakeIsCountedAndShown(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		viewer := r.connect("")
		p := r.pipeline("users.get")
		for range 1000 { // in one second, 4 events each
			_, _ = p.Do(r.t.Context(), fail)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		all := viewer.read()
		events, states := named(all, "event"), named(all, "state")
		var c change
		if err := json.Unmarshal([]byte(states[len(states)-1].data), &c); err != nil {
			t.Fatal(err)
		}
		// source.added is one more, warnings come beside.
		if total := len(events) + int(c.LeftOut.Debug+c.LeftOut.Others); total < 4000 || total > 4002 || len(events) < 256 || len(events) > 305 {
			t.Errorf("%d events came, %+v are said to be left out: want 4001 together", len(events), c.LeftOut)
		}
		viewer.leave()
		<-viewer.gone
	})
}

func TestWhoComesBackGetsWhatWasMissed(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		b := r.breaker("b")
		viewer := r.connect("")
		b.ForceOpen()
		synctest.Wait()
		got := named(viewer.read(), "event")
		last := got[len(got)-1].id
		viewer.leave()
		<-viewer.gone
		b.Reset()
		b.ForceOpen()
		synctest.Wait()
		for id, want := range map[string]int{last: 2, "": 4, "other." + strings.SplitN(last, ".", 2)[1]: 4, "nonsense": 4, last + "0": 0} {
			again := r.connect(id)
			if n := len(named(again.read(), "event")); n != want {
				t.Errorf("back with id %q: %d events, want %d", id, n, want)
			}
			again.leave()
			<-again.gone
		}
	})
}

func TestWhatWaitsForAViewerIsBounded(t *testing.T) {
	v := &viewer{wake: make(chan struct{}, 1)}
	for range viewerQueue + 100 {
		v.put(&record{})
	}
	if queue, dropped := v.take(); len(queue) != viewerQueue || dropped != 100 {
		t.Errorf("%d wait, %d are dropped", len(queue), dropped)
	}
}

func TestNoEventIsSentTwice(t *testing.T) {
	r := newRig(t, Config{})
	defer r.closes()
	s := &sender{console: r.Console, sent: 5}
	s.events([]*record{{ID: 4, Severity: 1, Event: []byte("{}")}, {ID: 5, Severity: 1, Event: []byte("{}")}, {ID: 6, Severity: 1, Event: []byte("{}")}})
	if text := s.buf.String(); strings.Count(text, "event: event") != 1 || !strings.Contains(text, ".6\n") {
		t.Errorf("%s", text)
	}
}
