package resilience

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/telltale-go/telltale/events"
)

// SingleflightConfig configures a [Singleflight]. Its zero value joins calls by the key given to DoKey.
type SingleflightConfig struct {
	// Name tells the layer apart in telemetry; empty means "singleflight".
	Name string
	// Key returns what a call asks for, from the context that reaches the layer. Calls with one key are joined, so it must
	// tell apart whatever makes answers differ: the tenant, the caller's rights. Nil means the key given to DoKey.
	//
	// A call whose key is empty runs by itself; an event warns of the first. If Key panics, that is published, and the call
	// runs by itself.
	Key func(ctx context.Context) string
}

// Singleflight is a layer that joins concurrent calls with one key: the first leads, what is inside the layer runs once,
// and all get its value, error or panic. It is no cache: when the flight has landed, the next call runs again. Make one
// with [NewSingleflight]. It is safe for concurrent use. In several pipelines it joins only the calls of each, and there
// calls of Run only with calls of Run.
//
// Outermost, where it belongs, the callers share one permit, one budget and one sequence of retries. A Timeout outside is
// each caller's own.
//
// Calls without a key are not joined: use DoKey. No caller's deadline limits the flight, only a Timeout inside it does.
//
// The run has the values of the leader's context, its key and its execution in the events; it has neither its
// cancellation nor its deadline. A caller whose context ends leaves, and the flight goes on for the others; when the
// last has left it is cancelled, with the cause of that one's context, and the next call starts another. A panic reaches
// every caller as a *PanicError, and runtime.Goexit as the error ErrGoexit.
//
// The run has a goroutine of its own, whose end Pipeline.Close waits for. Only where the leader's context can never end
// does it run on the leader's; a Goexit then ends that.
//
// All callers get the same value: who changes it changes it for the others. Hold is called for each of them, concurrently
// and with the same value, which it must wrap and not change; the last release counts as the value's, and the first error
// of all. Layers outside discard a value only when no caller has it any more. A call made inside a flight that
// would wait for itself, because it has that flight's key or that of one that waits for it, runs by itself.
type Singleflight struct {
	cfg      SingleflightConfig
	made     bool
	inFlight atomic.Int64
}

// NewSingleflight makes a Singleflight. Its error is a *ConfigError.
func NewSingleflight(cfg SingleflightConfig) (*Singleflight, error) {
	c := checks{typ: "SingleflightConfig"}
	c.name("Name", cfg.Name, false)
	if err := c.err(); err != nil {
		return nil, err
	}
	return &Singleflight{cfg: cfg, made: true}, nil
}

// MustSingleflight is NewSingleflight, and panics with its error.
func MustSingleflight(cfg SingleflightConfig) *Singleflight { return mustBe(NewSingleflight(cfg)) }

// InFlight returns how many keys are running, in all pipelines: flights that somebody waits for.
func (s *Singleflight) InFlight() int { return int(s.inFlight.Load()) }

// LayerInfo implements [Layer].
func (s *Singleflight) LayerInfo() LayerInfo {
	key := "call"
	if s.cfg.Key != nil {
		key = "function"
	}
	return LayerInfo{Name: s.cfg.Name, Type: events.TypeSingleflight, Settings: []Setting{{"key", key}}}
}

// String returns its name and how many keys are running.
func (s *Singleflight) String() string {
	return fmt.Sprintf("singleflight %s (%d in flight)", or(s.cfg.Name, events.TypeSingleflight), s.InFlight())
}

func (s *Singleflight) check() error {
	if !s.made {
		return fmt.Errorf("is a %T that was not made by NewSingleflight", s)
	}
	return nil
}
