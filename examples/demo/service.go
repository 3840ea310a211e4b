package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	roleVariable = "TELLTALE_DEMO_ROLE"
	rolePricing  = "pricing"
	clientHeader = "X-Demo-Client"
)

// servePricing is the pricing service: what the process does when it is started in that role. It ends when its standard
// input does, so that it cannot outlive the demo, however that ends.
func servePricing(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	address := "127.0.0.1:0"
	if len(args) > 0 {
		address = args[0]
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(stderr, "pricing:", err)
		return exitFailed
	}
	server := &http.Server{Handler: newService(), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		_ = server.Close()
	}()
	fmt.Fprintln(stdout, listener.Addr())
	if err := server.Serve(listener); err != http.ErrServerClosed {
		fmt.Fprintln(stderr, "pricing:", err)
		return exitFailed
	}
	return 0
}

// service answers price queries as its present phase has it, and counts them.
type service struct {
	http.ServeMux
	mu       sync.Mutex // guards what follows
	behavior behavior
	counts   map[string]int // requests of the present phase, by client
}

func newService() *service {
	s := &service{counts: map[string]int{}}
	s.HandleFunc("GET /price", s.price)
	s.HandleFunc("PUT /phase", s.enter)
	s.HandleFunc("GET /counts", s.tell)
	return s
}

func (s *service) price(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.counts[r.Header.Get(clientHeader)]++
	b := s.behavior
	s.mu.Unlock()
	wait(r.Context(), b.Latency+time.Duration(rand.Float64()*float64(b.Spread)))
	if rand.Float64() < b.Failing {
		w.Header().Set("Retry-After", strconv.Itoa(b.RetryAfter))
		http.Error(w, "overloaded", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"item": r.URL.Query().Get("item"), "cents": 100 + rand.IntN(900)})
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// enter begins a phase: its behaviour, and new counts.
func (s *service) enter(w http.ResponseWriter, r *http.Request) {
	var b behavior
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.behavior, s.counts = b, map[string]int{}
	s.mu.Unlock()
}

func (s *service) tell(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(s.counts)
}
