package resilience

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
)

// KeyedConfig configures a [Keyed].
type KeyedConfig struct {
	// Name tells the layer apart in telemetry, where it becomes a label; the keys do not. It is required.
	Name string
	// New makes the gate of a key, another each time. It is required. Errors of it, and panics, refuse the call and are not
	// kept: the next call with that key asks again. It is called without any lock held, concurrently also for one key,
	// where one of the gates is then used. NewKeyed calls it once, for the empty key.
	//
	// A breaker or limiter of this package that it makes is told of as the Keyed's, whatever its own Name and Bus are: give it
	// events.Off(), so that it is not listed even for a moment.
	New func(key string) (Gate, error)
	// Key tells a call's key; nil means the one given to DoKey. It is called concurrently, for each call.
	Key func(ctx context.Context, call Call) string
	// MaxKeys is for how many keys there are gates at a time, that of the empty key apart. Zero means 10000.
	MaxKeys int
	// IdleAfter is after what time without calls a key is forgotten. Zero means 10 min; negative means not before there is no
	// room for another key.
	IdleAfter time.Duration
	// Bus is where the layer and what its gates tell go. Nil means events.Default().
	Bus *events.Bus
}

const (
	defaultMaxKeys   = 10_000
	defaultIdleAfter = 10 * time.Minute
)

// Keyed is a [Gate] that has a gate for each key: a breaker for each host, a bulkhead for each tenant. Make one with
// [NewKeyed] and share it. It is safe for concurrent use, and starts no goroutine and no timer.
//
// Calls without a key, and those of new keys while there is no room, share one gate, which is never forgotten. A key is
// forgotten when it has been idle for IdleAfter, or to make room for another. That happens when a new key comes, so idle
// ones may stay for longer; which key makes room is no exact order, but not one used of late. Never forgotten is a key
// with a call under way or in a queue, nor what must be remembered: a breaker that is open, or held open or off by hand, a
// rate limiter whose burst is not full again, and what was given another rate or limit by hand. What an adaptive limiter has
// found is forgotten with its key. When all keys must stay, or 256 of them in a row, there is no room: new keys share the
// gate of calls without a key, and a ConfigWarning tells it once.
//
// In telemetry its gates are one: they add up under the layer's name. Their events have the key in Meta.Key, and for each
// key a sequence of its own.
type Keyed struct {
	cfg   KeyedConfig // with defaults
	place place
	info  LayerInfo
	seed  maphash.Seed
	rest  *keyedEntry // of the empty key
	full  atomic.Bool // a warning told that there was no room

	buckets atomic.Pointer[keyedBuckets] // read without a lock, changed under mu

	mu   sync.Mutex // guards what follows; never held while a function of the user's or a handler runs
	ring []*keyedEntry
	hand int // where in the ring the search for idle keys goes on
	past pastReading
}

// NewKeyed makes a Keyed without keys. Its error is a *ConfigError, or several joined, or what New says of the empty key.
func NewKeyed(cfg KeyedConfig) (*Keyed, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.MaxKeys = or(cfg.MaxKeys, defaultMaxKeys)
	cfg.IdleAfter = or(cfg.IdleAfter, defaultIdleAfter)
	cfg.Bus = or(cfg.Bus, events.Default())
	k := &Keyed{cfg: cfg, seed: maphash.MakeSeed(), place: place{bus: cfg.Bus, name: cfg.Name}}
	gate, err := k.build(context.Background(), Call{}, "")
	if err != nil {
		return nil, fmt.Errorf("resilience.KeyedConfig.New: of the empty key: %w", err)
	}
	k.info = gate.LayerInfo()
	k.info.Name = cfg.Name
	k.info.Settings = append(append([]Setting{}, k.info.Settings...), cfg.settings()...)
	k.place.source = cfg.Bus.NewSource(k.spec(gate))
	if err := k.adopt(gate, ""); err != nil {
		cfg.Bus.Remove(k.place.source)
		return nil, fmt.Errorf("resilience.KeyedConfig.New: of the empty key: %w", err)
	}
	k.rest = &keyedEntry{gate: gate}
	k.place.warnOfState(k.traits())
	k.buckets.Store(newKeyedBuckets(8))
	return k, nil
}

// MustKeyed is NewKeyed, and panics with its error.
func MustKeyed(cfg KeyedConfig) *Keyed { return mustBe(NewKeyed(cfg)) }

func (cfg KeyedConfig) check() error {
	c := checks{typ: "KeyedConfig"}
	c.name("Name", cfg.Name, true)
	c.bus(cfg.Bus)
	if cfg.New == nil {
		c.refuse("New", cfg.New, "a function")
	}
	if cfg.MaxKeys < 0 || cfg.MaxKeys > math.MaxInt32 {
		c.refuse("MaxKeys", cfg.MaxKeys, "at least 1 and at most 2147483647, or 0 for the default, 10000")
	}
	return c.err()
}

func (cfg KeyedConfig) settings() []Setting {
	idle := "never"
	if cfg.IdleAfter > 0 {
		idle = cfg.IdleAfter.String()
	}
	return []Setting{{"max_keys", fmt.Sprint(cfg.MaxKeys)}, {"idle_after", idle}}
}

// spec is the layer as its bus wants it: of the type of its gates.
func (k *Keyed) spec(gate Gate) events.SourceSpec {
	spec := events.SourceSpec{Layer: k.cfg.Name, Type: or(k.info.Type, events.TypeCustom), Settings: settingsLine(k.info.Settings),
		Keys: k.readings}
	if _, ok := gate.(breakerReader); ok {
		spec.Breaker = k.breakers
	}
	if _, ok := gate.(limiterReader); ok {
		spec.Limiter = k.limiters
	}
	return spec
}

// LayerInfo implements [Layer]: the type is that of the empty key's gate, and so are the settings that are not the Keyed's
// own.
func (k *Keyed) LayerInfo() LayerInfo { return k.info }

func (k *Keyed) check() error {
	if k.rest == nil {
		return fmt.Errorf("is a %T that was not made by NewKeyed", k)
	}
	return nil
}

func (k *Keyed) stateSource() *events.Source { return k.place.source }

// Name returns the layer's name.
func (k *Keyed) Name() string { return k.cfg.Name }

// Len returns for how many keys there are gates now, that of the empty key apart.
func (k *Keyed) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ring)
}

// Get returns the gate of a key, for example to open a breaker by hand; false if there is none now. It makes none, and does
// not count as a use: the gate may be forgotten, unless it must be remembered.
func (k *Keyed) Get(key string) (Gate, bool) {
	e := k.rest
	if key != "" {
		e = k.find(maphash.String(k.seed, key), key)
	}
	if e == nil {
		return nil, false
	}
	return e.gate, true
}

// All calls yield for the empty key and then for each key there is now, in no order, until it returns false:
//
//	for key, gate := range k.All {
func (k *Keyed) All(yield func(key string, gate Gate) bool) {
	if !yield("", k.rest.gate) {
		return
	}
	entries, _ := k.living()
	for _, e := range entries {
		if !yield(e.key, e.gate) {
			return
		}
	}
}

// String returns the layer's name and how many keys it has.
func (k *Keyed) String() string {
	return fmt.Sprintf("%s by key (%d of %d)", k.cfg.Name, k.Len(), k.cfg.MaxKeys)
}

// RunKey calls op if the key's gate lets it: the layer alone, without a pipeline. The error is op's, the gate's refusal, or
// a *CanceledError when ctx ended first.
func (k *Keyed) RunKey(ctx context.Context, key string, op func(ctx context.Context) error) error {
	return runCall(ctx, k, k.place, Call{key: key, attempt: 1}, op)
}

// AcquireKey asks the key's gate for one call in two steps: the caller releases the lease with how the call ended. Until
// then the key is not forgotten.
func (k *Keyed) AcquireKey(ctx context.Context, key string) (*Lease, error) {
	return acquireCall(ctx, k, k.place, Call{key: key, attempt: 1})
}

// build has New make a gate. A panic becomes an error.
func (k *Keyed) build(ctx context.Context, call Call, key string) (gate Gate, err error) {
	err = errNewPanicked
	func() {
		defer k.place.recoverCallback(ctx, call, "KeyedConfig.New")
		made, failed := k.cfg.New(key)
		if failed == nil {
			failed = usable(made) // it asks the gate, which may panic
		}
		gate, err = made, failed
	}()
	return gate, err
}

var errNewPanicked = errors.New("KeyedConfig.New panicked")
