package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// cache is something of the user's with a name.
type cache struct{ name string }

func (c *cache) Name() string { return c.name }

// uncomparable cannot be compared with ==.
type uncomparable struct {
	names []string
	last  any
}

func (u uncomparable) Name() string { return u.names[0] }

func names(all []resilience.Registered) (names []string) {
	for _, e := range all {
		names = append(names, e.Name+" "+e.Type)
	}
	return names
}

// stocked is a registry with one of each.
func stocked(t *testing.T) (*resilience.Registry, *resilience.Pipeline[int], *resilience.Breaker) {
	t.Helper()
	bus := events.NewBus()
	p := pipeline(bus, "users.get")
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: bus})
	r := resilience.NewRegistry()
	err := r.Register(db, p, emptyRoom(bus), resilience.MustBulkhead(resilience.BulkheadConfig{Name: "db", Bus: bus}),
		resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "quota", Rate: 1, Bus: bus}), &cache{"mine"})
	if err != nil {
		t.Fatal(err)
	}
	return r, p, db
}

// PIPE-19
func TestTheRegistryFindsByNameAndType(t *testing.T) {
	r, p, db := stocked(t)
	if got, err := resilience.Lookup[*resilience.Pipeline[int]](r, "users.get"); got != p || err != nil {
		t.Errorf("the pipeline: %v, %v", got, err)
	}
	if got, err := resilience.Lookup[*resilience.Breaker](r, "db"); got != db || err != nil {
		t.Errorf("the breaker: %v, %v", got, err)
	}
	if got, err := resilience.Lookup[*resilience.Bulkhead](r, "db"); got == nil || got.Name() != "db" || err != nil {
		t.Errorf("the bulkhead of the same name: %v, %v", got, err)
	}
	if got, err := resilience.Lookup[*cache](r, "mine"); got == nil || err != nil {
		t.Errorf("the user's: %v, %v", got, err)
	}
	if got, err := resilience.Lookup[resilience.Gate](r, "quota"); got == nil || err != nil {
		t.Errorf("the limiter as an interface: %v, %v", got, err)
	}
	want := []string{"db bulkhead", "db circuit_breaker", "mine *resilience_test.cache", "quota rate_limiter", "room bulkhead", "users.get pipeline"}
	if got := names(r.All()); !slices.Equal(got, want) {
		t.Errorf("All lists %q, want %q", got, want)
	}
}

// PIPE-19
func TestALookupThatFindsNothingListsWhatIsRegistered(t *testing.T) {
	r, _, _ := stocked(t)
	const list = "registered are db (*resilience.Breaker), db (*resilience.Bulkhead), mine (*resilience_test.cache), " +
		"quota (*resilience.RateLimiter), room (*resilience.Bulkhead), users.get (*resilience.Pipeline[int])"
	lookup := func(_ any, err error) error { return err }
	for want, err := range map[string]error{
		`no *resilience.Breaker named "dp" is registered; ` + list:                 lookup(resilience.Lookup[*resilience.Breaker](r, "dp")),
		`no *resilience.Breaker named "users.get" is registered; ` + list:          lookup(resilience.Lookup[*resilience.Breaker](r, "users.get")),
		`no *resilience.Pipeline[string] named "users.get" is registered; ` + list: lookup(resilience.Lookup[*resilience.Pipeline[string]](r, "users.get")),
		`more than one resilience.Gate named "db" is registered; ` + list:          lookup(resilience.Lookup[resilience.Gate](r, "db")),
		`no *resilience.Breaker named "" is registered; registered are none`:       lookup(resilience.Lookup[*resilience.Breaker](new(resilience.Registry), "")),
	} {
		var found *resilience.LookupError
		if err == nil || err.Error() != "resilience: "+want || !errors.As(err, &found) || found.Type == "" {
			t.Errorf("got  %v\nwant resilience: %s", err, want)
		}
	}
	if got, err := resilience.Lookup[*resilience.Breaker](r, "dp"); got != nil || err == nil {
		t.Errorf("found %v", got)
	}
}

// PIPE-19
func TestTheRegistryRefusesASecondOfOneNameAndType(t *testing.T) {
	bus := events.NewBus()
	r, _, _ := stocked(t)
	before := names(r.All())
	for what, v := range map[string]resilience.Named{
		"a pipeline of another result type": resilience.MustPipeline(resilience.PipelineConfig[string]{Name: "users.get", Bus: bus}),
		"another breaker":                   resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: bus}),
		"another bulkhead":                  resilience.MustBulkhead(resilience.BulkheadConfig{Name: "db", Bus: bus}),
		"another limiter":                   resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "quota", Rate: 1, Bus: bus}),
		"another of the user's":             &cache{"mine"},
		"nil":                               nil,
		"a typed nil":                       (*cache)(nil),
		"a zero breaker":                    new(resilience.Breaker),
		"a zero pipeline":                   new(resilience.Pipeline[int]),
		"a name that is no label":           &cache{"a\nb"},
	} {
		err := r.Register(&cache{"fine"}, v)
		var refused *resilience.ConfigError
		if !errors.As(err, &refused) || refused.Type != "Registry" {
			t.Errorf("%s: got %v", what, err)
		}
		if got := names(r.All()); !slices.Equal(got, before) { // all or nothing
			t.Errorf("%s: then it has %q", what, got)
		}
	}
	err := r.Register(resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: bus}), pipeline(bus, "users.get"))
	if text := fmt.Sprint(err); strings.Count(text, "\n") != 1 || !strings.Contains(text, `Registry.Name = "db": must be that of one circuit_breaker only; registered are db (*resilience.Breaker), db`) {
		t.Errorf("got %v", err)
	}
}

// PIPE-19: what is wired twice is one, not a second of its name.
func TestTheRegistryTakesTheSameTwice(t *testing.T) {
	r, p, db := stocked(t)
	before := names(r.All())
	u := uncomparable{names: []string{"u"}, last: []int{1}}
	if err := r.Register(db, p, db); err != nil {
		t.Errorf("got %v", err)
	}
	if got := names(r.All()); !slices.Equal(got, before) {
		t.Errorf("then it has %q", got)
	}
	if err := errors.Join(resilience.NewRegistry().Register(db, db), r.Register(u)); err != nil {
		t.Errorf("got %v", err)
	}
	if err := r.Register(u); err == nil {
		t.Error("what cannot be compared was taken for the same")
	}
}

// PIPE-19
func TestAClosedPipelineLeavesTheRegistry(t *testing.T) {
	r, p, db := stocked(t)
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := resilience.Lookup[*resilience.Pipeline[int]](r, "users.get"); err == nil || strings.Contains(err.Error(), "users.get (") {
		t.Errorf("got %v", err)
	}
	again := pipeline(events.NewBus(), "users.get")
	if err := r.Register(again); err != nil {
		t.Fatal(err)
	}
	if got, err := resilience.Lookup[*resilience.Pipeline[int]](r, "users.get"); got != again || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	r.Remove(db)
	r.Remove(db)
	r.Remove(nil)
	r.Remove((*cache)(nil))
	if _, err := resilience.Lookup[*resilience.Breaker](r, "db"); err == nil {
		t.Error("a breaker that was removed is found")
	}
	if _, err := resilience.Lookup[*resilience.Bulkhead](r, "db"); err != nil {
		t.Errorf("the bulkhead of its name is gone, too: %v", err)
	}
}

// PIPE-19: a layer of the user's is of the type that it names.
func TestTheRegistryAsksALayerOfTheUsersForItsType(t *testing.T) {
	r := resilience.NewRegistry()
	if err := r.Register(&namedGate{counting{name: "mine"}}); err != nil {
		t.Fatal(err)
	}
	if got := names(r.All()); !slices.Equal(got, []string{"mine quota"}) {
		t.Errorf("it has %q", got)
	}
}

// namedGate is a gate of the user's that names its type.
type namedGate struct{ counting }

func (g *namedGate) Name() string { return g.name }

func (g *namedGate) LayerInfo() resilience.LayerInfo {
	return resilience.LayerInfo{Name: g.name, Type: "quota"}
}

// PIPE-19: what cannot be compared is kept, and cannot be removed.
func TestTheRegistryTakesWhatCannotBeCompared(t *testing.T) {
	r := resilience.NewRegistry()
	u := uncomparable{names: []string{"u"}, last: []int{1}}
	if err := r.Register(u, &cache{"c"}); err != nil {
		t.Fatal(err)
	}
	r.Remove(u)
	r.Remove(&cache{"other"})
	if got := names(r.All()); !slices.Equal(got, []string{"c *resilience_test.cache", "u resilience_test.uncomparable"}) {
		t.Errorf("it has %q", got)
	}
}

// PIPE-19
func TestTheRegistryIsSafeForConcurrentUse(t *testing.T) {
	r := resilience.NewRegistry()
	bus := events.NewBus()
	var all sync.WaitGroup
	var registered atomic.Int64
	for i := range 8 {
		all.Go(func() {
			for k := range 50 {
				p := pipeline(bus, fmt.Sprint("p", k))
				if r.Register(p) == nil { // one of eight
					registered.Add(1)
				}
				if _, err := resilience.Lookup[*resilience.Pipeline[int]](r, fmt.Sprint("p", k)); err != nil {
					t.Error(err)
				}
				if c := (&cache{fmt.Sprint("c", i)}); r.Register(c) == nil {
					_ = r.All()
					r.Remove(c)
				}
			}
		})
	}
	all.Wait()
	if n := len(r.All()); n != 50 || registered.Load() != 50 {
		t.Errorf("%d are registered, %d were; want 50", n, registered.Load())
	}
	for _, e := range r.All() {
		all.Go(func() { _ = e.Value.(*resilience.Pipeline[int]).Close(context.Background()) })
		all.Go(func() { _ = r.All() })
	}
	all.Wait()
	if n := len(r.All()); n != 0 {
		t.Errorf("%d closed pipelines are left", n)
	}
}
