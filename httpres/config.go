package httpres

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// Config configures a [Transport]. Changing it, or its slices, after the transport was built changes nothing.
type Config struct {
	// Name tells the transport's pipeline apart in telemetry, where it becomes a label. It is required.
	Name string
	// Layers of the pipeline, the outermost first. None: requests are sent once. A layer that looks at results is a
	// resilience.TypedLayer[*http.Response].
	Layers []resilience.Layer
	// RetryIf is the default of resilience.Retry.If: which failures are retried. A response with one of the
	// FailureStatuses comes as a *StatusError. Nil means resilience.IsTransient.
	RetryIf func(error) bool
	// FailureIf is the default of resilience.BreakerConfig.FailureIf: which failures count against the server. Nil means
	// resilience.IsTransient: an invalid request, or a body that cannot be read, is no fault of the server's.
	FailureIf func(error) bool
	// FailureStatuses are the statuses from 400 to 599 that make a response a failure: retried if the request may be
	// repeated, and counted by breakers. Nil means DefaultFailureStatuses; an empty slice means none.
	FailureStatuses []int
	// Idempotent tells which requests may be sent more than once. It is called once a request, concurrently, and must
	// not change it. Nil means IsIdempotent.
	Idempotent func(*http.Request) bool
	// MaxBodyBuffer is how much of the body of one request is remembered, in bytes, so that it can be sent again. It is
	// for requests that may be repeated and have no GetBody: http.NewRequest gives one to bodies in memory. A body that
	// turns out to be longer is sent on as it is, once. Zero means 1 MiB; negative means that nothing is remembered.
	MaxBodyBuffer int64
	// DrainLimit is how much of a response that is thrown away is read, in bytes and for at most 50 ms, so that its
	// connection can be used again. Zero means 64 KiB; negative means that nothing is read.
	DrainLimit int64
	// Bus is where the events go. Nil means events.Default().
	Bus *events.Bus
}

const (
	defaultMaxBodyBuffer = 1 << 20
	defaultDrainLimit    = 64 << 10
)

// DefaultFailureStatuses returns the statuses that make a response a failure when Config.FailureStatuses is nil: 408,
// 429, 502, 503 and 504. To add 500: append(httpres.DefaultFailureStatuses(), 500).
func DefaultFailureStatuses() []int {
	return []int{
		http.StatusRequestTimeout, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}
}

func (cfg Config) withDefaults() Config {
	cfg.Layers = slices.Clone(cfg.Layers)
	if cfg.RetryIf == nil {
		cfg.RetryIf = resilience.IsTransient
	}
	if cfg.FailureIf == nil {
		cfg.FailureIf = resilience.IsTransient
	}
	if cfg.FailureStatuses == nil {
		cfg.FailureStatuses = DefaultFailureStatuses()
	}
	cfg.FailureStatuses = slices.Clone(cfg.FailureStatuses)
	if cfg.Idempotent == nil {
		cfg.Idempotent = IsIdempotent
	}
	if cfg.MaxBodyBuffer == 0 {
		cfg.MaxBodyBuffer = defaultMaxBodyBuffer
	}
	if cfg.DrainLimit == 0 {
		cfg.DrainLimit = defaultDrainLimit
	}
	return cfg
}

// check refuses what the pipeline itself does not.
func (cfg Config) check(base http.RoundTripper) error {
	var problems []error
	if cfg.Name == "" {
		problems = append(problems, &resilience.ConfigError{
			Type: "httpres.Config", Field: "Name", Value: "", Allowed: "set: it tells this one apart in telemetry",
		})
	}
	if v := reflect.ValueOf(base); v.Kind() == reflect.Pointer && v.IsNil() {
		problems = append(problems, fmt.Errorf("the base is a nil %T", base))
	}
	for _, status := range cfg.FailureStatuses {
		if status < 400 || status > 599 {
			problems = append(problems, &resilience.ConfigError{
				Type: "httpres.Config", Field: "FailureStatuses", Value: status, Allowed: "from 400 to 599",
			})
		}
	}
	return errors.Join(problems...)
}
