package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/telltale-go/telltale/dashboards/console"
	"github.com/telltale-go/telltale/events"
)

var errOccupied = errors.New("the address is in use: choose another with -listen, or -listen 127.0.0.1:0 for a free port")

// site serves what an operator reads: the console, /metrics and /sources.
type site struct {
	address string
	server  *http.Server
}

func startSite(address string, t *telemetry) (*site, error) {
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listening on %s: %w", address, errOccupied)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on %s (-listen): %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET /sources", sources)
	mux.Handle("/debug/resilience/", console.Handler(events.Default()))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "/debug/resilience/  the live console\n/metrics             for Prometheus\n/sources             the live pipelines and breakers, as JSON")
	})
	s := &site{address: listener.Addr().String(), server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

func (s *site) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
}

// sourceJSON is a live source, as /sources shows it.
type sourceJSON struct {
	Pipeline string       `json:"pipeline,omitempty"`
	Layer    string       `json:"layer,omitempty"`
	Type     string       `json:"type"`
	Shared   string       `json:"shared,omitempty"`
	Settings string       `json:"settings,omitempty"`
	Breaker  *breakerJSON `json:"breaker,omitempty"`
	Limiter  *limiterJSON `json:"limiter,omitempty"`
	Layers   []sourceJSON `json:"layers,omitempty"`
}

type breakerJSON struct {
	State        events.State       `json:"state"`
	Since        time.Time          `json:"since"`
	NextProbe    *time.Time         `json:"next_probe,omitempty"`
	Calls        int64              `json:"calls"`
	Failures     int64              `json:"failures"`
	FailureRatio float64            `json:"failure_ratio"`
	Limit        float64            `json:"limit"`
	SecondsIn    map[string]float64 `json:"seconds_in_state"`
}

type limiterJSON struct {
	Limit  int64 `json:"limit"`
	Usage  int64 `json:"usage"`
	Queued int64 `json:"queued"`
}

// sources answers with the live sources of the bus.
func sources(w http.ResponseWriter, _ *http.Request) {
	all := []sourceJSON{}
	for _, s := range events.Default().Sources() {
		all = append(all, describe(s))
	}
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	_ = enc.Encode(all)
}

func describe(s *events.Source) sourceJSON {
	d := sourceJSON{Pipeline: s.Pipeline(), Layer: s.Layer(), Type: s.Type(), Settings: s.Settings()}
	if shared := s.Shared(); shared != nil {
		d.Shared = shared.Layer()
	}
	if r, ok := s.Breaker(); ok {
		d.Breaker = &breakerJSON{State: r.State, Since: r.Since, Calls: r.Calls, Failures: r.Failures, FailureRatio: r.FailureRatio,
			Limit: r.Limit, SecondsIn: map[string]float64{}}
		if !r.NextProbe.IsZero() {
			d.Breaker.NextProbe = &r.NextProbe
		}
		for _, state := range events.States() {
			d.Breaker.SecondsIn[state.String()] = r.Spent[state].Seconds()
		}
	}
	if r, ok := s.Limiter(); ok {
		d.Limiter = &limiterJSON{Limit: r.Limit, Usage: r.Usage, Queued: r.Queued}
	}
	for _, l := range s.Layers() {
		d.Layers = append(d.Layers, describe(l))
	}
	return d
}
