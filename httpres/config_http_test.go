package httpres_test

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

const anyValue = "any value is fine"

// refuses checks that every field of a configuration has a row, and that build refuses what is in it.
func refuses[C any](t *testing.T, build func(C) error, rows map[string]any) {
	t.Helper()
	config := reflect.TypeFor[C]()
	for i := range config.NumField() {
		field := config.Field(i).Name
		bad, ok := rows[field].([]C)
		if !ok && rows[field] != anyValue {
			t.Errorf("%v.%s has no row: which values are refused?", config, field)
		}
		for _, cfg := range bad {
			var refused *resilience.ConfigError
			err := build(cfg)
			if !errors.As(err, &refused) || refused.Field != field || refused.Type != "httpres."+config.Name() || refused.Allowed == "" {
				t.Errorf("%v.%s: got %v", config, field, err)
			}
		}
		delete(rows, field)
	}
	if len(rows) > 0 {
		t.Errorf("rows without a field: %v", rows)
	}
}

func noAnswer(*http.Request) bool { return false }

// PIPE-09
func TestTransportsOptions(t *testing.T) {
	type config = httpres.Config
	headers := func(set func(name string) config) (all []config) {
		for _, name := range []string{"a b", "a:b", "a\nb", "é", "Host", "content-length", "Transfer-Encoding", "Trailer", "connection", "Idempotency-Key"} {
			cfg := set(name)
			cfg.Name = "x"
			all = append(all, cfg)
		}
		return all
	}
	build := func(cfg config) error {
		cfg.Bus = events.NewBus()
		_, err := httpres.NewTransport(nil, cfg)
		if len(cfg.Bus.Sources()) != 0 {
			t.Error("a source of a transport that was not made")
		}
		return err
	}
	refuses(t, build, map[string]any{
		"Name": []config{{}}, "Layers": anyValue, "RetryIf": anyValue, "FailureIf": anyValue, "Idempotent": anyValue, "Bus": anyValue,
		"FailureStatuses": []config{{Name: "x", FailureStatuses: []int{399}}, {Name: "x", FailureStatuses: []int{600}}},
		"MaxBodyBuffer":   anyValue, "DrainLimit": anyValue,
		"AttemptHeader": headers(func(n string) config { return config{AttemptHeader: n} }),
		"TimeoutHeader": append(headers(func(n string) config { return config{TimeoutHeader: n} }), config{Name: "x", AttemptHeader: "n", TimeoutHeader: "N"}),
	})
	refuses(t, func(r httpres.Route) error { return build(config{Name: "x", Layers: []resilience.Layer{&r}}) }, map[string]any{
		"Name": anyValue, "To": []httpres.Route{{}},
	})
}

// PIPE-09, PIPE-22: what is the transport's a pipeline refuses.
func TestPipelinesOptions(t *testing.T) {
	type config = httpres.Config
	refuses(t, func(cfg config) error {
		cfg.Bus = events.NewBus()
		_, err := httpres.NewPipeline(cfg)
		return err
	}, map[string]any{
		"Name": []config{{}}, "Layers": anyValue, "RetryIf": anyValue, "FailureIf": anyValue, "Bus": anyValue, "DrainLimit": anyValue,
		"FailureStatuses": []config{{Name: "x", FailureStatuses: []int{200}}},
		"Idempotent":      []config{{Name: "x", Idempotent: noAnswer}},
		"MaxBodyBuffer":   []config{{Name: "x", MaxBodyBuffer: 1}, {Name: "x", MaxBodyBuffer: -1}},
		"AttemptHeader":   []config{{Name: "x", AttemptHeader: "n"}},
		"TimeoutHeader":   []config{{Name: "x", TimeoutHeader: "n"}},
	})
	defer func() {
		if p := recover(); p == nil {
			t.Error("MustPipeline does not panic")
		}
	}()
	httpres.MustPipeline(config{})
}

// PIPE-09
func TestMiddlewaresOptions(t *testing.T) {
	type config = httpres.MiddlewareConfig
	var repeating []config
	for _, l := range []resilience.Layer{
		resilience.Retry{}, &resilience.Retry{}, resilience.Hedge{}, &resilience.Hedge{}, &resilience.Singleflight{},
		resilience.Timeout{Abandon: true}, &resilience.Timeout{Abandon: true}, httpres.Standard("x").Layers[0],
	} {
		repeating = append(repeating, config{Name: "x", Layers: []resilience.Layer{l}})
	}
	refuses(t, func(cfg config) error {
		cfg.Bus = events.NewBus()
		_, err := httpres.NewMiddleware(cfg)
		return err
	}, map[string]any{
		"Name": []config{{}}, "Layers": repeating, "Priority": anyValue, "Timeout": anyValue, "Key": anyValue, "RetryAfter": anyValue,
		"Respond": anyValue, "Bus": anyValue,
	})
	for what, f := range map[string]func(){
		"must": func() { httpres.MustMiddleware(config{}) }, "not made": func() { new(httpres.Middleware).Wrap(http.NotFoundHandler()) },
		"is nil": func() { middleware(t, config{}).Wrap(nil) },
	} {
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), what) {
					t.Errorf("panics with %v, want %q", p, what)
				}
			}()
			f()
		}()
	}
	var none httpres.Middleware
	if err := none.Close(t.Context()); err != nil || none.Describe().Name != "" || middleware(t, config{}).Describe().Name != "api" {
		t.Errorf("%v, %+v", err, none.Describe())
	}
	if _, err := httpres.NewBreakerPerHost(resilience.BreakerConfig{Name: "x", FailureRatio: 2, Bus: events.NewBus()}); err == nil {
		t.Error("a breaker per host that no breaker could be")
	}
}
