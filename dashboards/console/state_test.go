package console

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// The shape of state.json and events.json. To write the golden files anew: make golden
func TestGoldenJSON(t *testing.T) {
	inBubble(t, Config{History: time.Minute}, func(r *rig) {
		budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "db-retries", Bus: r.bus})
		bulkhead := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "db-calls", MaxConcurrent: 7, Bus: r.bus})
		breaker := r.breaker("payments-db")
		p := r.pipeline("users.get", bulkhead, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay, Budget: budget}, breaker)
		own := r.bus.NewSource(events.SourceSpec{Pipeline: "custom", Type: events.TypePipeline, Layers: []events.SourceSpec{
			{Pipeline: "custom", Layer: "mine", Type: "my_own_type", Settings: "a=b"}}})
		r.kept = append(r.kept, budget, bulkhead, own)
		r.get("/state.json")
		time.Sleep(6 * time.Second)
		for range 4 {
			_, _ = p.Do(r.t.Context(), fail)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		golden(t, "state.golden.json", r.get("/state.json"))
		golden(t, "events.golden.json", r.get("/events.json?event=execution.finished"))
	})
}

var idPattern = regexp.MustCompile(`("(?:id|shared_id|last|resilience.execution.id|id.)": ?)\d+`)

// golden compares an answer with a file. The ids of sources are numbered by the process and left out.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = idPattern.ReplaceAllString(got, "${1}0")
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is another now; if that is meant, make golden:\n%s", path, got)
	}
}

func TestAnOpenBreakerTellsWhenItProbesNext(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		b := r.breaker("b") // cooldown 10 s
		p := r.pipeline("p", b)
		for range 3 {
			_, _ = p.Do(r.t.Context(), fail)
		}
		time.Sleep(4 * time.Second)
		got := r.getState().Breakers[0].Breaker
		if got.State != open || got.NextProbe == nil || !near(*got.NextProbe, 6, 0.01) {
			t.Errorf("%+v", got)
		}
		if page := r.get("/"); !strings.Contains(page, "next probe in 6.0 s") || !strings.Contains(page, "circuit breaker: <b>open</b>") {
			t.Errorf("the page does not say so:\n%s", page)
		}
		time.Sleep(7 * time.Second)
		if got := r.getState().Breakers[0].Breaker; got.State != half || got.NextProbe != nil {
			t.Errorf("after the cooldown: %+v", got)
		}
		if _, err := p.Do(r.t.Context(), succeed); err != nil {
			t.Fatal(err)
		}
		if got := r.getState().Breakers[0].Breaker; got.State != closed {
			t.Errorf("after a probe: %+v", got)
		}
	})
}

func TestLimitersAndBudgetsTellWhatIsLeft(t *testing.T) {
	inBubble(t, Config{}, func(r *rig) {
		bulkhead := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "calls", MaxConcurrent: 1, MaxQueue: 5, Bus: r.bus})
		budget := resilience.MustRetryBudget(resilience.RetryBudgetConfig{Name: "retries", Bus: r.bus})
		r.kept = append(r.kept, bulkhead, budget)
		p := r.pipeline("p", bulkhead)
		for range 3 {
			go p.Do(r.t.Context(), func(ctx) (int, error) { time.Sleep(time.Second); return 1, nil })
		}
		synctest.Wait()
		s := r.getState()
		if len(s.Limits) != 2 || *s.Limits[0].Limiter != (limiter{1, 1, 2}) || s.Limits[1].Budget == nil || s.Limits[1].Budget.Limit == 0 {
			t.Errorf("%+v", s.Limits)
		}
		if page := r.get("/"); !strings.Contains(page, "1 of 1") || !strings.Contains(page, "2 queued") || !strings.Contains(page, "extra attempts left") {
			t.Errorf("the page does not say so:\n%s", page)
		}
		time.Sleep(4 * time.Second)
	})
}

// Two hundred pipelines of six layers are one page, soon made.
func TestTwoHundredPipelines(t *testing.T) {
	r := newRig(t, Config{})
	defer r.closes()
	for i := range 200 {
		r.pipeline(fmt.Sprintf("service-%d.get", i), resilience.Timeout{Name: "total", After: time.Minute}, retry(3), r.breaker(fmt.Sprintf("db-%d", i)),
			resilience.Hedge{}, resilience.Timeout{Name: "attempt"})
	}
	began := time.Now()
	page := r.get("/")
	took := time.Since(began)
	if n := strings.Count(page, `<li class="operation">`); n != 200 {
		t.Errorf("%d pipelines on the page", n)
	}
	if len(page) > 1<<20 {
		t.Errorf("the page has %d KB", len(page)>>10)
	}
	began = time.Now()
	f := nextFrame(nil, r.state(r.look()))
	t.Logf("page of 200 pipelines: %d KB in %v; a frame in %v", len(page)>>10, took, time.Since(began))
	if len(f.rows) != 400 {
		t.Errorf("%d rows", len(f.rows))
	}
}

// A pipeline that is dropped without being closed leaves the page: the console holds nothing alive.
func TestADroppedPipelineLeavesThePage(t *testing.T) {
	r := newRig(t, Config{})
	defer r.closes()
	func() {
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "dropped", Layers: []resilience.Layer{retry(2)}, Bus: r.bus})
		r.get("/")
		_, _ = p.Do(r.t.Context(), fail)
		if !strings.Contains(r.get("/"), "dropped") {
			t.Error("it is not on the page to begin with")
		}
	}()
	within(t, 10*time.Second, "the dropped pipeline is gone", func() bool {
		collect()
		rec := r.ask(http.MethodGet, "/state.json")
		return !strings.Contains(rec.Body.String(), `"dropped"`)
	})
}
