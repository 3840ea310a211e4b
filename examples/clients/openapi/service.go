package main

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/telltale-go/telltale/examples/clients/openapi/orders"
)

// service is the orders API. It fails as it is told, after it has done what was asked: the worst case for a retry.
type service struct {
	mu     sync.Mutex
	fails  int // so many of the next requests
	status int
	orders []orders.Order
	byKey  map[string]orders.Order
	got    []string
}

func newService() *service { return &service{byKey: map[string]orders.Order{}} }

// will has the next n requests fail.
func (s *service) will(n, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails, s.status, s.got = n, status, nil
}

// requests returns the requests since: method, path and key.
func (s *service) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", s.place)
	mux.HandleFunc("GET /orders/{id}", s.find)
	return mux
}

func (s *service) place(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var wanted orders.NewOrder
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	order, known := s.byKey[key]
	if !known {
		order = orders.Order{Id: int64(len(s.orders) + 1), Item: wanted.Item}
		s.orders = append(s.orders, order)
		if key != "" {
			s.byKey[key] = order
		}
	}
	s.answer(w, r, http.StatusCreated, order)
}

func (s *service) find(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id < 1 || id > len(s.orders) {
		s.answer(w, r, http.StatusNotFound, nil)
		return
	}
	s.answer(w, r, http.StatusOK, s.orders[id-1])
}

// answer needs the lock.
func (s *service) answer(w http.ResponseWriter, r *http.Request, status int, body any) {
	s.got = append(s.got, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Idempotency-Key")))
	if s.fails > 0 {
		s.fails--
		w.WriteHeader(s.status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
