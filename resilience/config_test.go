package resilience_test

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// bad is one wrong value of a field, and what its error says.
type bad[C any] struct {
	with    C
	value   any    // in the error; nil: the field's
	allowed string // a part of what is allowed
	field   string // in the error, where it is not the field alone
}

const (
	// anyValue stands for a field of which every value is fine.
	anyValue = "any value is fine"
	minNs    = time.Duration(math.MinInt64)
)

// refuses checks that build refuses every bad value by a *ConfigError, and that every field of C has a row.
func refuses[C any](t *testing.T, build func(C) error, rows map[string]any) {
	t.Helper()
	config := reflect.TypeFor[C]()
	name, _, _ := strings.Cut(config.Name(), "[") // of a generic type
	for i := range config.NumField() {
		field := config.Field(i).Name
		if !config.Field(i).IsExported() {
			continue
		}
		switch row := rows[field].(type) {
		case nil:
			t.Errorf("%s.%s has no row: which values are refused?", name, field)
		case string:
			if row != anyValue {
				t.Errorf("%s.%s: %q is no row", name, field, row)
			}
		case []bad[C]:
			for _, b := range row {
				refused(t, name, field, b, build(b.with))
			}
		}
		delete(rows, field)
	}
	for field := range rows {
		t.Errorf("%s.%s does not exist", name, field)
	}
}

func refused[C any](t *testing.T, name, field string, b bad[C], err error) {
	t.Helper()
	value := b.value
	if value == nil {
		value = reflect.ValueOf(b.with).FieldByName(field).Interface()
	}
	if b.field != "" {
		field = b.field
	}
	var found *resilience.ConfigError
	for _, e := range configErrors(err) {
		if e.Field == field && strings.Contains(e.Allowed, b.allowed) {
			found = e
		}
	}
	if found == nil {
		t.Errorf("%s.%s = %v: got %v, want a *ConfigError of it that allows %q", name, field, value, err, b.allowed)
		return
	}
	if found.Type != name || fmt.Sprint(found.Value) != fmt.Sprint(value) || reflect.TypeOf(found.Value) != reflect.TypeOf(value) {
		t.Errorf("%s.%s = %v: the error has %#v", name, field, value, found)
	}
	if text := found.Error(); !strings.Contains(text, name+"."+field+" = ") || !strings.Contains(text, "must be "+found.Allowed) {
		t.Errorf("%s.%s: text %q", name, field, text)
	}
}

// configErrors lists the *ConfigErrors in err's tree.
func configErrors(err error) (all []*resilience.ConfigError) {
	if e, ok := err.(*resilience.ConfigError); ok {
		return append(all, e)
	}
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		return configErrors(w.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range w.Unwrap() {
			all = append(all, configErrors(inner)...)
		}
	}
	return all
}

// names are bad in every configuration; where a name is required, the empty one is, too.
func badNames[C any](with func(name string) C, required bool) []bad[C] {
	rows := []bad[C]{
		{with: with(strings.Repeat("n", 201)), allowed: "200 bytes"},
		{with: with("a\nb"), allowed: "printable"},
		{with: with("a\x7f"), allowed: "printable"},
		{with: with("a\u2028b"), allowed: "printable"},
		{with: with("a\xff"), allowed: "printable UTF-8"},
	}
	if required {
		rows = append(rows, bad[C]{with: with(""), allowed: "set"})
	}
	return rows
}

// zeroBus is the row of a configuration whose bus nobody made.
func zeroBus[C any](with C) []bad[C] {
	return []bad[C]{{with: with, value: "a zero events.Bus", allowed: "made by events.NewBus"}}
}

func buildLayer(l resilience.Layer) error {
	_, err := resilience.NewPipeline(resilience.PipelineConfig[int]{Name: "p", Layers: []resilience.Layer{l}, Bus: events.Off()})
	return err
}

// PIPE-09
func TestBulkheadRefusesBadOptions(t *testing.T) {
	type config = resilience.BulkheadConfig
	build := func(c config) error {
		c.Bus = cmp.Or(c.Bus, events.Off())
		_, err := resilience.NewBulkhead(c)
		return err
	}
	refuses(t, build, map[string]any{
		"Name":          badNames(func(n string) config { return config{Name: n} }, true),
		"MaxConcurrent": []bad[config]{{with: config{MaxConcurrent: -1}, allowed: "at least 1"}, {with: config{MaxConcurrent: math.MinInt}, allowed: "at least 1"}},
		"MaxQueue":      []bad[config]{{with: config{MaxQueue: -1}, allowed: "or more"}},
		"MaxWait": []bad[config]{
			{with: config{MaxWait: -1, MaxQueue: 1}, allowed: "positive"},
			{with: config{MaxWait: minNs, MaxQueue: 1}, allowed: "positive"},
			{with: config{MaxWait: time.Second}, allowed: "0 where MaxQueue"},
		},
		"Bus": anyValue,
	})
}

// PIPE-09
func TestRateLimiterRefusesBadOptions(t *testing.T) {
	type config = resilience.RateLimiterConfig
	build := func(c config) error {
		c.Bus = cmp.Or(c.Bus, events.Off())
		_, err := resilience.NewRateLimiter(c)
		return err
	}
	const years = 365 * 24 * time.Hour
	refuses(t, build, map[string]any{
		"Name": badNames(func(n string) config { return config{Name: n, Rate: 1} }, true),
		"Rate": []bad[config]{
			{with: config{}, allowed: "at least 1"},
			{with: config{Rate: -1}, allowed: "at least 1"},
			{with: config{Rate: math.MinInt}, allowed: "at least 1"},
			{with: config{Rate: 1_000_000_001}, allowed: "a nanosecond"},
			{with: config{Rate: 2, Per: 1}, allowed: "a nanosecond"},
			{with: config{Rate: math.MaxInt, Per: 10 * years}, allowed: "a nanosecond"},
		},
		"Per": []bad[config]{
			{with: config{Rate: 1, Per: -1}, allowed: "positive"},
			{with: config{Rate: 1, Per: minNs}, allowed: "positive"},
			{with: config{Rate: 1, Per: 10*years + 1}, allowed: "10 years"},
			{with: config{Rate: 1, Per: math.MaxInt64}, allowed: "10 years"},
		},
		"Burst": []bad[config]{
			{with: config{Rate: 1, Burst: -1}, allowed: "at least 1"},
			{with: config{Rate: 1, Per: years, Burst: 11}, allowed: "10 years"},
			{with: config{Rate: 1, Burst: math.MaxInt}, allowed: "10 years"},
		},
		"MaxWait": []bad[config]{{with: config{Rate: 1, MaxWait: -1}, allowed: "positive"}, {with: config{Rate: 1, MaxWait: minNs}, allowed: "positive"}},
		"Bus":     zeroBus(config{Name: "l", Rate: 1, Bus: new(events.Bus)}),
	})
}

// PIPE-09: bad layers are those of PIPE-06, PIPE-07 and PIPE-25 (see fold_test.go).
func TestPipelineRefusesBadOptions(t *testing.T) {
	type config = resilience.PipelineConfig[int]
	build := func(c config) error {
		c.Bus = cmp.Or(c.Bus, events.Off())
		_, err := resilience.NewPipeline(c)
		return err
	}
	refuses(t, build, map[string]any{
		"Name":          badNames(func(n string) config { return config{Name: n} }, true),
		"Layers":        anyValue,
		"Classify":      anyValue,
		"Discard":       anyValue,
		"RetryIf":       anyValue,
		"FailureIf":     anyValue,
		"Hold":          anyValue,
		"JudgeOnReturn": []bad[config]{{with: config{JudgeOnReturn: true}, allowed: "false where Hold"}},
		"RecoverPanics": anyValue,
		"Bus":           zeroBus(config{Name: "p", Bus: new(events.Bus)}),
	})
}
