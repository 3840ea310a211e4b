package resilience_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// The golden file is made by: go test ./resilience -run Golden -update
var update = flag.Bool("update", false, "write testdata anew")

// fullStack is the canonical order of layers, with a layer of the user's inside.
func fullStack(bus *events.Bus, name string, db *resilience.Breaker) *resilience.Pipeline[int] {
	return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: name, Bus: bus, Layers: []resilience.Layer{
		resilience.MustBulkhead(resilience.BulkheadConfig{Name: name + ".room", MaxQueue: 10, MaxWait: 50 * time.Millisecond, Bus: bus}),
		resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: name + ".rate", Rate: 100, Bus: bus}),
		resilience.Timeout{Name: "total", After: 2 * time.Second},
		resilience.Retry{MaxAttempts: 4, Backoff: resilience.Exponential{Base: 50 * time.Millisecond}},
		db,
		resilience.Timeout{Name: "attempt", After: 500 * time.Millisecond},
		resilience.Around("mine", func(ctx context.Context, next func(context.Context) error) error { return next(ctx) }),
	}})
}

// PIPE-18
func TestGoldenDescription(t *testing.T) {
	bus := events.NewBus()
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", FailureRatio: 0.5, Bus: bus})
	namesake := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: bus})
	// The first two share a breaker. The third has another of the same name.
	pipelines := []*resilience.Pipeline[int]{fullStack(bus, "users.get", db), fullStack(bus, "users.list", db), fullStack(bus, "users.put", namesake)}
	var all []resilience.Description
	for _, p := range pipelines {
		d := p.Describe()
		all = append(all, d)
		text, err := json.Marshal(d)
		var back resilience.Description
		if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, d) {
			t.Errorf("%s came back as %+v, %v", text, back, err)
		}
	}
	ids := map[uint64]uint64{} // the process's numbers depend on what else it made: renumber them
	for _, d := range all {
		for i := range d.Layers {
			if id := d.Layers[i].SharedID; id != 0 {
				if ids[id] == 0 {
					ids[id] = uint64(len(ids) + 1)
				}
				d.Layers[i].SharedID = ids[id]
			}
		}
	}
	got, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const golden = "testdata/descriptions.json"
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s; if that is meant: go test ./resilience -run Golden -update\n%s", golden, got)
	}
}

// PIPE-18
func TestTheDescriptionOfAnEmptyPipelineRoundTrips(t *testing.T) {
	d := resilience.PassThrough[int]().Describe()
	text, err := json.Marshal(d)
	var back resilience.Description
	if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(back, d) {
		t.Errorf("%s came back as %+v, %v", text, back, err)
	}
	if want := `{"name":"pass_through","layers":[],"attempts_at_worst":1,"warnings":[]}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

// PIPE-18 PIPE-08
func TestADescriptionIsTheCallersOwn(t *testing.T) {
	p := ints(events.NewBus(), resilience.Timeout{}, resilience.Timeout{})
	d := p.Describe()
	want := p.Describe()
	d.Layers[0].Name, d.Layers[0].Settings[0].Value = "changed", "changed"
	for i := range d.Warnings {
		d.Warnings[i].Code = "changed"
		d.Warnings[i].Layers[0] = 99
	}
	if got := p.Describe(); len(d.Warnings) == 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
