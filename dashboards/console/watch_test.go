package console

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
)

// BUS-02: nobody pays for a page that nobody looks at.
func TestCallsAreListenedToOnlyWhileSomebodyLooks(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		heard := func(want bool, when string) {
			t.Helper()
			synctest.Wait()
			if r.bus.CallsHeard() != want {
				t.Errorf("%s: CallsHeard is %v", when, !want)
			}
		}
		heard(false, "before the first look")
		for _, path := range []string{"/console.js", "/console.css", "/icon.svg", "/nothing.txt", "/events.json?after=x", "/deeper"} {
			r.ask(http.MethodGet, path)
		}
		for _, path := range []string{"/", "/state.json", "/events.json", "/stream"} {
			r.ask(http.MethodHead, path)
		}
		heard(false, "after what is no look")
		for _, path := range []string{"/", "/state.json", "/events.json"} {
			r.get(path)
			heard(true, path)
			time.Sleep(14 * time.Second)
			heard(true, path+" 14 s ago")
			r.get(path)
			time.Sleep(14 * time.Second)
			heard(true, path+" again, 14 s ago")
			time.Sleep(3 * time.Second)
			heard(false, path+" 17 s ago")
		}
		a, b := r.connect(""), r.connect("")
		time.Sleep(time.Minute)
		heard(true, "two viewers")
		a.leave()
		<-a.gone
		time.Sleep(time.Minute)
		heard(true, "one viewer")
		b.leave()
		<-b.gone
		time.Sleep(2 * time.Second)
		heard(false, "no viewer")
	})
}

func TestOthersWhoListenStayHeard(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		defer events.NewBuffered(r.bus, 10, func(_ ctx, _ events.Event) {}).Cancel()
		r.get("/state.json")
		time.Sleep(20 * time.Second)
		if !r.bus.CallsHeard() {
			t.Error("the end of a watch ended somebody else's subscription")
		}
	})
}

// Whatever is not within calls is known also of times when nobody looked.
func TestTheTimelineHasThePast(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		breaker := r.breaker("payments-db")
		time.Sleep(60 * time.Second)
		breaker.ForceOpen()
		time.Sleep(30 * time.Second)
		breaker.Reset()
		time.Sleep(10 * time.Second)
		r.pipeline("late.one")
		synctest.Wait()
		s := r.getState()
		if len(s.Breakers) != 1 || len(s.Breakers[0].Transitions) != 2 {
			t.Fatalf("%+v", s.Breakers)
		}
		var states []events.State
		for _, span := range s.Breakers[0].Timeline {
			states = append(states, span.State)
		}
		if want := []events.State{events.StateClosed, events.StateForcedOpen, events.StateClosed}; !slices.Equal(states, want) {
			t.Fatalf("%v, want %v", states, want)
		}
		open := s.Breakers[0].Timeline[1]
		if near(open.From, 40, 1.25) && near(open.To, 10, 1.25) {
			return
		}
		t.Errorf("forced open %v s to %v s ago, want 40 to 10", open.From, open.To)
	})
}

func TestWhatHappenedWhileNobodyLookedIsInTheLog(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		b := r.breaker("payments-db")
		b.ForceOpen()
		p := r.pipeline("users.get", b)
		synctest.Wait()
		_ = p.Close(r.t.Context())
		synctest.Wait()
		var names []string
		for _, e := range r.getEvents("") {
			names = append(names, e["event"].(map[string]any)["event.name"].(string))
		}
		// The warning is that no Timeout would tell the breaker of calls that hang.
		for _, want := range []string{"source.added", "circuit_breaker.state_changed", "source.added", "config.warning", "source.removed"} {
			if !slices.Contains(names, want) {
				t.Errorf("the log lacks %s: %v", want, names)
			}
		}
		time.Sleep(20 * time.Second)
		before := len(names)
		r.get("/")
		synctest.Wait()
		if n := len(r.getEvents("")); n != before {
			t.Errorf("another watch made %d events of %d: what lives is told again", n, before)
		}
	})
}

func TestRatesAndLatencyAreThoseOfTheLastSeconds(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		slow := func(ctx ctx) (int, error) { time.Sleep(80 * time.Millisecond); return 1, nil }
		p := r.pipeline("users.get", retry(3))
		if r.getState().Pipelines[0].Traffic != nil {
			t.Error("there are rates before anything was measured")
		}
		for range 100 { // 10 s
			_, _ = p.Do(r.t.Context(), slow)
			time.Sleep(20 * time.Millisecond)
		}
		traffic := r.getState().Pipelines[0].Traffic
		if !near(traffic.PerSecond, 10, 0.3) || !near(traffic.ByOutcome["success"], 10, 0.3) || traffic.AttemptsPerCall != 1 ||
			!near(traffic.P50, 0.080, 0.006) || !near(traffic.P99, 0.080, 0.006) {
			t.Errorf("%+v", traffic)
		}
		for range 110 {
			_, _ = p.Do(r.t.Context(), fail)
			time.Sleep(100 * time.Millisecond)
		}
		s := r.getState()
		traffic = s.Pipelines[0].Traffic
		if !near(traffic.ByOutcome["failure"], 10, 0.3) || !near(traffic.ByOutcome["success"], 0, 0.3) || !near(traffic.AttemptsPerCall, 3, 0.1) {
			t.Errorf("after failures: %+v", traffic)
		}
		if l := s.Pipelines[0].Layers[0]; l.Did != "retries" || !near(l.Rate, 20, 0.6) {
			t.Errorf("%+v", l)
		}
		time.Sleep(11 * time.Second)
		if traffic = r.getState().Pipelines[0].Traffic; traffic.PerSecond != 0 || traffic.P99 != 0 {
			t.Errorf("after 11 quiet seconds: %+v", traffic)
		}
	})
}

// A rejection counts for the layer, and for the state that layers share.
func TestRejectionsCountForTheLayerAndItsState(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		b := r.breaker("payments-db")
		b.ForceOpen()
		one, other := r.pipeline("a", b), r.pipeline("b", b)
		r.get("/state.json")
		for range 10 {
			_, _ = one.Do(r.t.Context(), succeed)
			_, _ = other.Do(r.t.Context(), succeed)
			time.Sleep(100*time.Millisecond + 1)
		}
		time.Sleep(time.Second)
		s := r.getState()
		if got := s.Breakers[0].Rejected; got < 9 || got > 20 {
			t.Errorf("the state: %v rejected/s", got)
		}
		if l := s.Pipelines[0].Layers[0]; l.Rate*2 != s.Breakers[0].Rejected || l.Did != "rejected" || l.Shared != s.Breakers[0].ID || l.State != "forced_open" {
			t.Errorf("%+v", l)
		}
		if users := s.Breakers[0].UsedBy; len(users) != 2 || users[0].Name != "a" || users[1].Name != "b" {
			t.Errorf("used by %v", users)
		}
	})
}

func TestClosingEndsEverything(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		viewer := r.connect("")
		r.closes()
		<-viewer.gone
		if r.bus.CallsHeard() || r.bus.BreakerStateChanged.Heard() {
			t.Error("a closed console listens")
		}
		before := r.log.last
		r.pipeline("late", r.breaker("late"))
		if synctest.Wait(); r.log.last != before {
			t.Error("a closed console notes what is built")
		}
		for _, path := range []string{"/", "/state.json", "/events.json", "/stream"} {
			if rec := r.ask(http.MethodGet, path); rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" {
				t.Errorf("%s of a closed console: %d", path, rec.Code)
			}
		}
		r.closes() // again
	})
}

func TestCloseWaitsOnlyAsLongAsItsContext(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		viewer := r.connect("")
		viewer.stick()
		time.Sleep(1500 * time.Millisecond)
		ctx, cancel := contextWithTimeout(time.Second)
		defer cancel()
		if err := r.Close(ctx); err == nil {
			t.Error("a viewer is stuck, and Close does not say so")
		}
		r.closes() // the write's deadline passes
		<-viewer.gone
	})
}

// A call that is watched allocates no more for the page's counters than for its own boxed events.
func TestCountingACallDoesNotAllocate(t *testing.T) {
	r := newRig(t, Config{})
	defer r.closes()
	s := r.bus.NewSource(events.SourceSpec{Pipeline: "p", Type: events.TypePipeline})
	table := events.NewTable(r.bus, newTraffic, nil)
	defer table.Close()
	defer listen(r.bus, table)()
	var ends events.Ends[events.ExecutionFinished]
	if n := testing.AllocsPerRun(100, func() {
		ctx := r.bus.Execution.Begin(r.t.Context(), events.ExecutionStarted{Meta: events.Meta{Source: s}}, &ends)
		ends.Finish(events.ExecutionFinished{Meta: events.Meta{Source: s}, Outcome: events.OutcomeSuccess, Attempts: 1, Duration: time.Millisecond})
		_ = ctx
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
