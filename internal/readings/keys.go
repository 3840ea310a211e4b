package readings

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
)

// MaxKeys is how many keys of a layer adapters may be asked to tell.
const MaxKeys = 10_000

// Keys tells the keys of Keyed layers apart: those that come first, up to a limit for each name of a layer. The rest is
// one, _OTHER, and calls without a key are of it. A key that its layer has forgotten makes room at the next reading, and
// what was counted of it goes. It is safe for concurrent use.
type Keys struct {
	limit  int
	mu     sync.Mutex // guards what follows, and changes of a Layer's keys
	layers map[string]*Layer
}

// NewKeys makes one for so many keys a layer; nil for none.
func NewKeys(limit int) *Keys {
	if limit <= 0 {
		return nil
	}
	return &Keys{limit: limit, layers: map[string]*Layer{}}
}

// Layer is what is counted of the Keyed layers of one name.
type Layer struct {
	all   *Keys
	name  string
	typ   string
	holds int // sources; guarded by all.mu
	other refusals
	keys  atomic.Pointer[map[string]refusals] // replaced as a whole
}

// refusals are counted by events.Reason; place 0 is for those that the enum does not have.
type refusals []atomic.Int64

func newRefusals() refusals { return make(refusals, len(events.Reasons())+1) }

// Open returns what the refusals of a source are counted into, which is a Keyed layer or its place in a pipeline, until
// Drop; nil for other sources, and for a nil Keys.
func (k *Keys) Open(s *events.Source) *Layer {
	if k == nil {
		return nil
	}
	if s.Shared() != nil {
		s = s.Shared()
	}
	if _, keyed := s.Keys(); !keyed {
		return nil
	}
	name := Label(s.Layer())
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.layers[name]
	if l == nil {
		l = &Layer{all: k, name: name, typ: s.Type(), other: newRefusals()}
		l.keys.Store(&map[string]refusals{})
		k.layers[name] = l
	}
	l.holds++
	return l
}

// Drop is called once for each Open, when the source has gone. A nil Layer does nothing.
func (l *Layer) Drop() {
	if l == nil {
		return
	}
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	if l.holds--; l.holds == 0 {
		delete(l.all.layers, l.name)
	}
}

// Rejected counts a call that the gate of a key refused. A nil Layer does nothing.
func (l *Layer) Rejected(key string, reason events.Reason) {
	if l == nil {
		return
	}
	n := l.of(Label(key))
	if int(reason) >= len(n) {
		reason = 0
	}
	n[reason].Add(1)
}

func (l *Layer) of(key string) refusals {
	if key == "" || key == events.OtherErrorType {
		return l.other
	}
	if n := (*l.keys.Load())[key]; n != nil {
		return n
	}
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	return l.admit(key)
}

// admit returns the counts of a key, and makes them if there is room. all.mu is held.
func (l *Layer) admit(key string) refusals {
	known := *l.keys.Load()
	if n := known[key]; n != nil {
		return n
	}
	if len(known) >= l.all.limit {
		return l.other
	}
	grown := maps.Clone(known)
	grown[key] = newRefusals()
	l.keys.Store(&grown)
	return grown[key]
}

// Key is what is told of one key at one moment, or of all that are _OTHER.
type Key struct {
	Layer, Key string
	// Rejections has every reason that its gates can have, and others that they had; 0 is one that is not known.
	Rejections map[events.Reason]int64
	// In is how many breakers are in each state, by events.State; nil where there is none.
	In *[states]int64
	// Limiter adds up; nil where there is none.
	Limiter *events.LimiterReading
}

// read tells of the keys that there are, by the name of their layer.
func (k *Keys) read(live map[string][]events.KeyReading) (all []Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for name, keys := range live {
		if l := k.layers[name]; l != nil {
			all = append(all, l.read(keys)...)
		}
	}
	return all
}

func (l *Layer) read(live []events.KeyReading) (all []Key) {
	there := make(map[string]bool, len(live))
	for i := range live {
		live[i].Key = Label(live[i].Key)
		there[live[i].Key] = true
	}
	kept := maps.Clone(*l.keys.Load())
	maps.DeleteFunc(kept, func(key string, _ refusals) bool { return !there[key] })
	for _, r := range live {
		if _, ok := kept[r.Key]; !ok && r.Key != "" && r.Key != events.OtherErrorType && len(kept) < l.all.limit {
			kept[r.Key] = newRefusals()
		}
	}
	l.keys.Store(&kept)
	told := map[string]*Key{events.OtherErrorType: l.key(events.OtherErrorType, l.other)}
	for key, n := range kept {
		told[key] = l.key(key, n)
	}
	for _, r := range live {
		of := told[r.Key]
		if of == nil {
			of = told[events.OtherErrorType]
		}
		of.add(r)
	}
	for _, of := range told {
		all = append(all, *of)
	}
	return all
}

func (l *Layer) key(key string, n refusals) *Key {
	of := &Key{Layer: l.name, Key: key, Rejections: map[events.Reason]int64{}}
	for _, r := range events.RejectionReasons(l.typ) {
		of.Rejections[r] = 0
	}
	for r := range n {
		if count := n[r].Load(); count > 0 {
			of.Rejections[events.Reason(r)] = count
		}
	}
	return of
}

func (k *Key) add(r events.KeyReading) {
	if r.Breaker != nil {
		if k.In == nil {
			k.In = new([states]int64)
		}
		count(k.In, *r.Breaker)
	}
	if r.Limiter != nil {
		if k.Limiter == nil {
			k.Limiter = new(events.LimiterReading)
		}
		k.Limiter.Limit += r.Limiter.Limit
		k.Limiter.Usage += r.Limiter.Usage
		k.Limiter.Queued += r.Limiter.Queued
	}
}
