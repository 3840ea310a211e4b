package httpres

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

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
	// AttemptHeader is the name of a header that tells the server the number of the attempt, "1" for the first, so that it can
	// tell the requests of who sends again from others. Empty means none.
	AttemptHeader string
	// TimeoutHeader is the name of a header that tells the server how long the attempt may still take: until the nearest
	// deadline, of a Timeout or the caller's own. It is written as grpc-timeout is, "250m" for 250 ms: see TimeoutFrom, which
	// reads it. Empty means none.
	TimeoutHeader string
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
func (cfg Config) check() error {
	var problems []error
	refuse := func(field string, value any, allowed string) {
		problems = append(problems, &resilience.ConfigError{Type: "httpres.Config", Field: field, Value: value, Allowed: allowed})
	}
	if cfg.Name == "" {
		refuse("Name", "", "set: it tells this one apart in telemetry")
	}
	for _, status := range cfg.FailureStatuses {
		if status < 400 || status > 599 {
			refuse("FailureStatuses", status, "from 400 to 599")
		}
	}
	if !isExtraHeader(cfg.AttemptHeader) {
		refuse("AttemptHeader", cfg.AttemptHeader, allowedHeader)
	}
	if !isExtraHeader(cfg.TimeoutHeader) {
		refuse("TimeoutHeader", cfg.TimeoutHeader, allowedHeader)
	}
	if h := cfg.TimeoutHeader; h != "" && strings.EqualFold(h, cfg.AttemptHeader) {
		refuse("TimeoutHeader", h, "another than AttemptHeader")
	}
	for _, l := range cfg.Layers {
		if r, ok := routeOf(l); ok && r.To == nil {
			problems = append(problems, &resilience.ConfigError{Type: "httpres.Route", Field: "To", Value: nil, Allowed: "a function"})
		}
	}
	return errors.Join(problems...)
}

// checkBase refuses a base that cannot send anything.
func checkBase(base http.RoundTripper) error {
	if v := reflect.ValueOf(base); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("the base is a nil %T", base)
	}
	return nil
}

// checkNoTransport refuses what only a transport uses.
func (cfg Config) checkNoTransport() error {
	var problems []error
	refuse := func(field string, value any) {
		problems = append(problems, &resilience.ConfigError{
			Type: "httpres.Config", Field: field, Value: value, Allowed: "not set: it is the transport's",
		})
	}
	if cfg.Idempotent != nil {
		refuse("Idempotent", "a function")
	}
	if cfg.MaxBodyBuffer != 0 {
		refuse("MaxBodyBuffer", cfg.MaxBodyBuffer)
	}
	if cfg.AttemptHeader != "" {
		refuse("AttemptHeader", cfg.AttemptHeader)
	}
	if cfg.TimeoutHeader != "" {
		refuse("TimeoutHeader", cfg.TimeoutHeader)
	}
	return errors.Join(problems...)
}

const allowedHeader = "the name of a header that net/http sends as it is, or empty for none"

// isExtraHeader tells whether a header of this name can be set without harm: a token of RFC 9110, and none that frames the
// message, says where it goes, or must be the same each time.
func isExtraHeader(name string) bool {
	const tokens = "!#$%&'*+-.^_`|~"
	for _, r := range name {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !letter && !strings.ContainsRune(tokens, r) {
			return false
		}
	}
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Content-Length", "Transfer-Encoding", "Trailer", "Connection", "Upgrade", "Idempotency-Key", "X-Idempotency-Key":
		return false
	}
	return true
}
