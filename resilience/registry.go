package resilience

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/telltale-go/telltale/events"
)

// Named is what a [Registry] keeps: a pipeline, a breaker, a limiter, a budget, or something of one's own with a name.
type Named interface {
	Name() string
}

// Registry finds pipelines and shared state by name: for wiring that is spread over a program, and for pages that show all
// there is. What passes what it needs as arguments needs none. It keeps what it is given alive, until [Registry.Remove]; a
// pipeline that was closed is no longer in it. It is safe for concurrent use; the zero value is empty and ready.
type Registry struct {
	mu      sync.RWMutex // guards entries
	entries []Registered
}

// Registered is one entry of a [Registry].
type Registered struct {
	Name  string
	Type  string // one of the Type constants of package events, or, of what is none of them, its Go type
	Value Named
}

// NewRegistry makes an empty registry.
func NewRegistry() *Registry { return new(Registry) }

// Register adds all of them, or none if one is refused: by a *ConfigError if there is another of its name and type already,
// pipelines of all result types being of one type. What is in it already stays, as if it had not been given. A breaker and a
// bulkhead, or a pipeline, may have the same name.
func (r *Registry) Register(all ...Named) error {
	c := checks{typ: "Registry"}
	var added []Registered
	for _, v := range all {
		if isNil(v) {
			c.refuse("Register", v, "not nil")
			continue
		}
		e := Registered{Name: v.Name(), Value: v}
		before := len(c.errors)
		if c.name("Name", e.Name, true); len(c.errors) == before {
			e.Type = typeOf(v)
			added = append(added, e)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = slices.DeleteFunc(r.entries, Registered.closed)
	known := slices.Clone(r.entries)
	for _, e := range added {
		i := slices.IndexFunc(known, func(o Registered) bool { return o.Name == e.Name && o.Type == e.Type })
		if i >= 0 && sameNamed(known[i].Value, e.Value) {
			continue
		}
		if i >= 0 {
			c.refuse("Name", e.Name, fmt.Sprintf("that of one %s only; registered are %s", e.Type, listed(known)))
			continue
		}
		known = append(known, e)
	}
	if len(c.errors) == 0 {
		r.entries = known
	}
	return c.err()
}

// Remove takes something out; what is not in it is ignored.
func (r *Registry) Remove(v Named) {
	if isNil(v) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = slices.DeleteFunc(r.entries, func(e Registered) bool { return sameNamed(e.Value, v) })
}

// sameNamed compares by identity; what cannot be compared is never the same.
func sameNamed(a, b Named) bool {
	return reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// All lists what is registered, by name and then by type.
func (r *Registry) All() []Registered {
	r.mu.RLock()
	all := slices.DeleteFunc(slices.Clone(r.entries), Registered.closed)
	r.mu.RUnlock()
	slices.SortFunc(all, func(a, b Registered) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type)) })
	return all
}

// Lookup finds what is registered under a name as a V:
//
//	db, err := resilience.Lookup[*resilience.Breaker](registry, "payments-db")
//
// The error is a *LookupError, but for a nil registry. V may be an interface, as long as one of that name is such.
func Lookup[V any](r *Registry, name string) (v V, err error) {
	if r == nil {
		return v, errNilRegistry
	}
	all := r.All()
	found := 0
	for _, e := range all {
		if e.Name == name {
			if is, ok := e.Value.(V); ok {
				v, found = is, found+1
			}
		}
	}
	if found != 1 {
		var none V
		return none, &LookupError{Name: name, Type: reflect.TypeFor[V]().String(), Registered: all, Ambiguous: found > 1}
	}
	return v, nil
}

var errNilRegistry = errors.New("resilience: Lookup: the registry is nil")

// LookupError tells that a [Registry] does not have what was looked for, and what it has.
type LookupError struct {
	Name       string
	Type       string // the Go type that was asked for
	Registered []Registered
	Ambiguous  bool // several of the name are of the type, which is an interface
}

func (e *LookupError) Error() string {
	what := "no"
	if e.Ambiguous {
		what = "more than one"
	}
	return fmt.Sprintf("resilience: %s %s named %q is registered; registered are %s", what, e.Type, e.Name, listed(e.Registered))
}

// listed names entries for people, in the order of their names.
func listed(all []Registered) string {
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = fmt.Sprintf("%s (%T)", e.Name, e.Value)
	}
	if len(names) == 0 {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// closed tells whether it is a pipeline that was closed.
func (e Registered) closed() bool {
	p, ok := e.Value.(interface{ isClosed() bool })
	return ok && p.isClosed()
}

func typeOf(v Named) string {
	switch l := v.(type) {
	case interface{ isClosed() bool }:
		return events.TypePipeline
	case stateful:
		return l.stateSource().Type()
	case Layer:
		if typ := l.LayerInfo().Type; typ != "" {
			return typ
		}
	}
	return fmt.Sprintf("%T", v)
}

func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan, reflect.Slice:
		return r.IsNil()
	}
	return false
}
