package grpcres_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// The golden files are made by: go test ./grpcres -run Golden -update
var update = flag.Bool("update", false, "write testdata anew")

func standard(t *testing.T) *grpcres.Client {
	t.Helper()
	cfg := grpcres.Standard("payments")
	cfg.Bus = events.NewBus()
	c, _ := client(t, cfg)
	return c
}

// HTTP-11, PIPE-10
func TestPresetIsGolden(t *testing.T) {
	c := standard(t)
	for file, d := range map[string]resilience.Description{
		"testdata/standard.json": c.Describe(), "testdata/standard_streams.json": c.DescribeStreams(),
	} {
		for i := range d.Layers {
			d.Layers[i].SharedID = 0 // another each time
		}
		if len(d.Warnings) != 0 {
			t.Errorf("%s warns: %v", file, d.Warnings)
		}
		got, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(bytes.TrimSpace(want), got) {
			t.Errorf("%s is not current: go test ./grpcres -run Golden -update. Got\n%s", file, got)
		}
	}
}

// HTTP-11: what gRPC has in common with HTTP is the same, not only equal; the rest is its own.
func TestPresetSharesTheValuesOfHTTP(t *testing.T) {
	http := httpres.Standard("payments")
	grpc := grpcres.Standard("payments")
	has := func(layers []resilience.Layer, name string) string {
		for _, l := range layers {
			if info := l.LayerInfo(); info.Name == name {
				return settings(info)
			}
		}
		return "no " + name
	}
	for _, name := range []string{"total", "retry", "attempt"} {
		if h, g := has(http.Layers, name), has(grpc.Layers, name); h != g {
			t.Errorf("%s: HTTP has %s, gRPC %s", name, h, g)
		}
	}
	if grpcres.StandardFailureRatio != 0.5 || grpcres.StandardMinCalls != 10 || grpcres.StandardCooldown != 10*time.Second {
		t.Error("the breaker's values are others")
	}
}

func settings(info resilience.LayerInfo) (s string) {
	for _, one := range info.Settings {
		s += one.Name + "=" + one.Value + " "
	}
	return s
}

// HTTP-11: the preset's breaker learns from a stream's first message, not from its end.
func TestPresetJudgesStreamsByTheirFirstMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{stream: func(_ int, ss grpc.ServerStream) error { return downStream(1)(1, ss) }})
		c := standard(t)
		cc := connect(t, s, c.DialOptions()...)
		for range grpcres.StandardMinCalls + 1 {
			st, err := down(t.Context(), cc, "m")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := all(st); len(got) != 1 || status.Code(err) != codes.Unavailable {
				t.Errorf("got %v, %v", got, err)
			}
		}
	})
}

// HTTP-11: a server that fails opens the preset's breaker, which calls and streams share; it stays for its cooldown.
func TestPresetsBreakerOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, script{unary: failing(1000, errDown), stream: downStream(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)})
		c := standard(t)
		cc := connect(t, s, c.DialOptions()...)
		for i := range 5 {
			if _, err := call(t.Context(), cc, "x"); errors.Is(err, resilience.ErrBreakerOpen) {
				t.Fatalf("it is open after %d calls", i)
			}
			s.calls.Store(0)
			st, err := down(t.Context(), cc, "m")
			if err != nil {
				t.Fatal(err)
			}
			all(st)
		}
		if _, err := call(t.Context(), cc, "x"); !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Errorf("after 10 failures a call gets %v", err)
		}
		if _, err := down(t.Context(), cc, "m"); !errors.Is(err, resilience.ErrBreakerOpen) {
			t.Errorf("after 10 failures a stream gets %v", err)
		}
		var open *resilience.BreakerOpenError
		if _, err := call(t.Context(), cc, "x"); !errors.As(err, &open) || open.RetryAfter() != grpcres.StandardCooldown {
			t.Errorf("it is open for %v", open.RetryAfter())
		}
	})
}
