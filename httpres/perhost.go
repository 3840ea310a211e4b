package httpres

import (
	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// NewBreakerPerHost makes a layer with a breaker for each host that requests go to, all of this configuration: one server
// that is down does not keep requests from the others. It keeps those of up to 10000 hosts, and forgets which were not
// used for a while: see resilience.Keyed, which it is, also for other numbers and for limiters per host, with [Host] as the
// Key. In telemetry the breakers are one, named cfg.Name. Its errors are those of resilience.NewBreaker.
func NewBreakerPerHost(cfg resilience.BreakerConfig) (*resilience.Keyed, error) {
	breaker := cfg
	breaker.Bus = events.Off() // the Keyed tells of it
	return resilience.NewKeyed(resilience.KeyedConfig{
		Name: cfg.Name,
		Key:  Host,
		New:  func(string) (resilience.Gate, error) { return resilience.NewBreaker(breaker) },
		Bus:  cfg.Bus,
	})
}

// MustBreakerPerHost is NewBreakerPerHost, and panics with its error.
func MustBreakerPerHost(cfg resilience.BreakerConfig) *resilience.Keyed {
	k, err := NewBreakerPerHost(cfg)
	if err != nil {
		panic(err)
	}
	return k
}
