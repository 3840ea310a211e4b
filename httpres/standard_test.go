package httpres_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// The golden files are made by: go test ./httpres -run Golden -update
var update = flag.Bool("update", false, "write testdata anew")

// HTTP-11, PIPE-10
func TestPresetsAreGolden(t *testing.T) {
	endpoint := &url.URL{Scheme: "https", Host: "a.test"}
	for name, cfg := range map[string]httpres.Config{
		"standard":                   httpres.Standard("payments"),
		"standard_hedging":           httpres.StandardHedging("payments"),
		"standard_hedging_endpoints": httpres.StandardHedging("payments", endpoint),
	} {
		d := configured(t, nil, cfg).Describe()
		for i := range d.Layers {
			d.Layers[i].SharedID = 0 // another each time
		}
		if len(d.Warnings) != 0 {
			t.Errorf("%s warns: %v", name, d.Warnings)
		}
		got, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		file := "testdata/" + name + ".json"
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
			t.Errorf("%s is not current: go test ./httpres -run Golden -update. Got\n%s", file, got)
		}
	}
}

// HTTP-11: the constants are what the presets consist of.
func TestPresetsConsistOfTheConstants(t *testing.T) {
	bus := events.NewBus()
	want := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "x", Bus: bus, Layers: []resilience.Layer{
		resilience.MustBulkhead(resilience.BulkheadConfig{Name: "x-bulkhead", MaxConcurrent: httpres.StandardMaxConcurrent, Bus: bus}),
		resilience.Timeout{Name: "total", After: httpres.StandardTotalTimeout},
		resilience.Retry{
			MaxAttempts: httpres.StandardMaxAttempts,
			Backoff:     resilience.Exponential{Base: httpres.StandardBackoff, Factor: httpres.StandardBackoffFactor},
			Jitter:      resilience.JitterEqual,
		},
		httpres.MustBreakerPerHost(resilience.BreakerConfig{
			Name: "x-hosts", FailureRatio: httpres.StandardFailureRatio, MinCalls: httpres.StandardMinCalls,
			Window: httpres.StandardWindow, Cooldown: httpres.StandardCooldown, Bus: bus,
		}),
		resilience.Timeout{Name: "attempt", After: httpres.StandardAttemptTimeout},
	}}).Describe()
	standard, hedging := configured(t, nil, httpres.Standard("x")).Describe(), configured(t, nil, httpres.StandardHedging("x")).Describe()
	for i, l := range want.Layers {
		if got := standard.Layers[i]; fmt.Sprint(got.Settings) != fmt.Sprint(l.Settings) || got.Name != l.Name {
			t.Errorf("layer %d is %+v, want %+v", i, got, l)
		}
		if got := hedging.Layers[i]; i != 2 && fmt.Sprint(got.Settings) != fmt.Sprint(l.Settings) {
			t.Errorf("hedging: layer %d is %+v, want %+v", i, got, l)
		}
	}
	hedge := resilience.Hedge{MaxAttempts: httpres.StandardHedgeAttempts, Delay: httpres.StandardHedgeDelay}
	if got, want := hedging.Layers[2].Settings, hedge.LayerInfo().Settings; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the hedge is %v, want %v", got, want)
	}
	if n := standard.AttemptsAtWorst; n != httpres.StandardMaxAttempts {
		t.Errorf("%d attempts at worst, want that all fit", n)
	}
}

// HTTP-11, HTTP-07: a host whose server fails is let alone, the others are not, and it gets a probe after the cooldown.
func TestEachPresetsBreakerOpensForTheHostThatFails(t *testing.T) {
	for name, preset := range map[string]httpres.Config{"retry": httpres.Standard("x"), "hedge": httpres.StandardHedging("x")} {
		t.Run(name, func(t *testing.T) {
			failing := true
			handle := func(w http.ResponseWriter, r *http.Request) {
				if failing && r.Host == "down.test" {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			}
			inBubble(t, "HTTP/1.1", handle, func(t *testing.T, base *http.Transport, _ *network) {
				tr := configured(t, base, preset)
				requests, opened := 0, false
				for ; requests < 100 && !opened; requests++ {
					resp, err := tr.RoundTrip(request(t, "GET", "http://down.test/", nil))
					opened = resilience.KindOf(err) == resilience.KindUnavailable
					if err == nil {
						resp.Body.Close()
					}
					if status, _ := send(t, tr, request(t, "GET", "http://up.test/", nil)); status != 200 {
						t.Fatalf("the other host: %d", status)
					}
				}
				if !opened || requests < 30 {
					t.Fatalf("opened: %v, after %d requests, want %d failed attempts", opened, requests, httpres.StandardMinCalls)
				}
				failing = false
				time.Sleep(httpres.StandardCooldown - time.Second)
				if _, err := tr.RoundTrip(request(t, "GET", "http://down.test/", nil)); err == nil {
					t.Error("the breaker let a request through before its cooldown was over")
				}
				time.Sleep(time.Second)
				for range 2 {
					if status, _ := send(t, tr, request(t, "GET", "http://down.test/", nil)); status != 200 {
						t.Errorf("after the cooldown: %d", status)
					}
				}
			})
		})
	}
}

// HTTP-07, HTTP-11: what a preset makes is the transport's own, and goes to its bus.
func TestTransportsOfOnePresetShareNothing(t *testing.T) {
	cfg := httpres.Standard("x")
	heard := map[string]bool{}
	for range 2 {
		cfg.Bus = events.NewBus()
		for _, l := range httpres.MustTransport(nil, cfg).Describe().Layers {
			if l.SharedID != 0 && heard[fmt.Sprint(l.SharedID)] {
				t.Errorf("both transports have the state of %s", l.Name)
			}
			heard[fmt.Sprint(l.SharedID)] = true
		}
		names := ""
		for _, s := range cfg.Bus.Sources() {
			names += s.Pipeline() + "/" + s.Layer() + " "
		}
		for _, want := range []string{"/x-bulkhead ", "/x-hosts ", "x/ "} {
			if !bytes.Contains([]byte(names), []byte(want)) {
				t.Errorf("the bus has %q, want %q, too", names, want)
			}
		}
	}
	_, err := resilience.NewPipeline(resilience.PipelineConfig[*http.Response]{Name: "x", Layers: cfg.Layers, Bus: events.NewBus()})
	if err == nil {
		t.Error("a pipeline that this package does not make takes a layer that is yet to be made")
	}
	if _, err := httpres.NewTransport(nil, httpres.Standard("")); err == nil {
		t.Error("a preset without a name is a transport")
	}
}

// HTTP-07: a body that is read keeps its host's bulkhead, whatever else the table forgets.
func TestForgettingHostsCancelsNothingInFlight(t *testing.T) {
	perHost := resilience.MustKeyed(resilience.KeyedConfig{Name: "hosts", Key: httpres.Host, MaxKeys: 3, Bus: events.NewBus(),
		New: func(string) (resilience.Gate, error) {
			return resilience.NewBulkhead(resilience.BulkheadConfig{Name: "host", MaxConcurrent: 1, Bus: events.Off()})
		}})
	rest := make(chan struct{})
	slow := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "the beginning ")
		w.(http.Flusher).Flush()
		<-rest
		io.WriteString(w, "and the end")
	})
	tr := transport(t, http.DefaultTransport, resilience.Timeout{}, perHost)
	resp, err := tr.RoundTrip(request(t, "GET", slow.URL, nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		s := serve(t, answers(200))
		if status, _ := send(t, tr, request(t, "GET", s.URL, nil)); status != 200 {
			t.Errorf("another host: %d", status)
		}
		if n := perHost.Len(); n > 3 {
			t.Fatalf("%d hosts are remembered", n)
		}
	}
	if _, err := tr.RoundTrip(request(t, "GET", slow.URL, nil)); resilience.KindOf(err) != resilience.KindLimited {
		t.Errorf("the host in use was forgotten: %v", err)
	}
	close(rest)
	body, err := io.ReadAll(resp.Body)
	if resp.Body.Close(); string(body) != "the beginning and the end" || err != nil {
		t.Errorf("the body is %q, %v", body, err)
	}
	if status, _ := send(t, tr, request(t, "GET", slow.URL, nil)); status != 200 {
		t.Errorf("the host whose body is closed: %d", status)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// HTTP-07: one server has one gate, however its URL is written.
func TestHostsAreKeyedByServer(t *testing.T) {
	var keys []string
	gate := resilience.MustKeyed(resilience.KeyedConfig{Name: "hosts", Key: httpres.Host, Bus: events.NewBus(),
		New: func(host string) (resilience.Gate, error) {
			keys = append(keys, host)
			return resilience.NewBulkhead(resilience.BulkheadConfig{Name: "host", Bus: events.Off()})
		}})
	tr := transport(t, answering(200, http.NoBody), gate)
	for _, u := range []string{"http://a.test/", "http://A.TEST:80/x", "HTTP://a.test:/", "https://a.test:443/", "https://a.test:80/", "http://[::1]:80/"} {
		send(t, tr, request(t, "GET", u, nil))
	}
	if got := fmt.Sprint(keys); got != "[ a.test a.test:80 [::1]]" {
		t.Errorf("keys %s", got)
	}
	if err := gate.RunKey(t.Context(), "", func(context.Context) error { return nil }); err != nil {
		t.Errorf("outside of a transport: %v", err)
	}
}
