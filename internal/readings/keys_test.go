package readings

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// table is a Keyed layer whose keys the test sets.
type table struct {
	t      *testing.T
	bus    *events.Bus
	source *events.Source
	keys   []events.KeyReading
	all    *Keys
	layer  *Layer
}

func newTable(t *testing.T, limit int) *table {
	k := &table{t: t, bus: events.NewBus(), all: NewKeys(limit)}
	k.source = k.bus.NewSource(events.SourceSpec{Layer: "hosts", Type: events.TypeBreaker, Keys: func(yield func(events.KeyReading) bool) {
		for _, r := range k.keys {
			if !yield(r) {
				return
			}
		}
	}})
	k.layer = k.all.Open(k.source)
	return k
}

// have sets the keys that there are, each with a closed breaker, beside the one of calls without a key.
func (k *table) have(keys ...string) {
	k.keys = nil
	for _, key := range append(keys, "") {
		k.keys = append(k.keys, events.KeyReading{Key: key, Breaker: &events.BreakerReading{State: events.StateClosed}})
	}
}

// read returns what is told: how many breakers are closed, and how many calls open ones refused, by key.
func (k *table) read() map[string]string {
	k.t.Helper()
	reader := Reader{Bus: k.bus, Time: func(*events.Source) *Time { return nil }, Keys: k.all}
	told := map[string]string{}
	for _, key := range reader.Read(func(_ *events.Source, v any) { k.t.Errorf("panicked with %v", v) }).Keys {
		if _, twice := told[key.Key]; twice || key.Layer != "hosts" {
			k.t.Errorf("%s of %s is told twice, or of nobody", key.Key, key.Layer)
		}
		told[key.Key] = fmt.Sprint(key.In[events.StateClosed], " closed, ", key.Rejections[events.ReasonOpen], " refused")
	}
	return told
}

func (k *table) want(want map[string]string) {
	k.t.Helper()
	if got := k.read(); !maps.Equal(got, want) {
		k.t.Errorf("told %v, want %v", got, want)
	}
}

// PROM-02: the keys that come first are told apart, and the rest is one.
func TestKeysBeyondTheLimitAreOther(t *testing.T) {
	k := newTable(t, 2)
	k.have()
	k.want(map[string]string{"_OTHER": "1 closed, 0 refused"})
	k.layer.Rejected("c", events.ReasonOpen)
	k.have("a", "b", "c", "d")
	k.layer.Rejected("", events.ReasonOpen)
	k.read() // a, b or d has the second place
	for _, key := range []string{"a", "b", "c", "d"} {
		k.layer.Rejected(key, events.ReasonOpen)
	}
	told := k.read()
	if len(told) != 3 || told["c"] != "1 closed, 2 refused" || told["_OTHER"] != "3 closed, 3 refused" {
		t.Errorf("told %v", told)
	}
}

// PROM-01: what a layer forgets goes and makes room; what comes again begins anew.
func TestForgottenKeysGo(t *testing.T) {
	k := newTable(t, 1)
	k.have("a")
	k.layer.Rejected("a", events.ReasonOpen)
	k.want(map[string]string{"a": "1 closed, 1 refused", "_OTHER": "1 closed, 0 refused"})
	k.have("b")
	k.want(map[string]string{"b": "1 closed, 0 refused", "_OTHER": "1 closed, 0 refused"})
	k.have("a", "b")
	k.layer.Rejected("a", events.ReasonOpen)
	k.want(map[string]string{"b": "1 closed, 0 refused", "_OTHER": "2 closed, 1 refused"})
	k.have("a")
	k.want(map[string]string{"a": "1 closed, 0 refused", "_OTHER": "1 closed, 1 refused"})
}

// Two keys that make one label, or that are called as the rest is, are one series.
func TestStrangeKeysAreOneSeriesEach(t *testing.T) {
	k := newTable(t, 5)
	k.have("\xff", "\xfe", "_OTHER")
	for _, key := range []string{"\xff", "\xfe", "_OTHER", ""} {
		k.layer.Rejected(key, events.ReasonOpen)
	}
	k.layer.Rejected("\xff", 99)
	k.want(map[string]string{"\uFFFD": "2 closed, 2 refused", "_OTHER": "2 closed, 2 refused"})
}

// BUS-10: layers of one name share their keys; the last takes them along.
func TestLayersOfOneNameShareTheirKeys(t *testing.T) {
	k := newTable(t, 5)
	k.have("a")
	place := k.bus.NewSource(events.SourceSpec{Pipeline: "p", Type: events.TypePipeline, Layers: []events.SourceSpec{
		{Pipeline: "p", Layer: "hosts#1", Type: events.TypeBreaker, Shared: k.source},
		{Pipeline: "p", Layer: "retry", Type: events.TypeRetry},
	}})
	inPipeline := k.all.Open(place.Layers()[0])
	if k.all.Open(place.Layers()[1]) != nil || NewKeys(0).Open(k.source) != nil {
		t.Error("there are keys where there are none")
	}
	inPipeline.Rejected("a", events.ReasonOpen)
	k.layer.Rejected("a", events.ReasonOpen)
	k.layer.Drop()
	k.want(map[string]string{"a": "1 closed, 2 refused", "_OTHER": "1 closed, 0 refused"})
	inPipeline.Drop()
	if len(k.all.layers) != 0 {
		t.Error("the layer is kept")
	}
	k.want(map[string]string{})
	var none *Layer
	none.Rejected("a", events.ReasonOpen)
	none.Drop()
}

// PROM-02: from many goroutines while keys come and go, no more are told than the limit, and none twice.
func TestKeysComeAndGoUnderReadings(t *testing.T) {
	k := newTable(t, 3)
	k.have("a", "b", "c", "d", "e")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 300 {
				k.layer.Rejected(string(rune('a'+i%7)), events.ReasonOpen)
			}
		})
		all.Go(func() {
			for range 100 {
				if told := k.read(); len(told) != 4 {
					t.Errorf("%d are told, want three keys and the rest: %v", len(told), slices.Collect(maps.Keys(told)))
				}
			}
		})
	}
	all.Wait()
}
