package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// service is the stock service. It fails as it is told, after it has done what was asked: the worst case for a retry.
type service struct {
	mu       sync.Mutex
	fails    int // so many of the next calls
	code     connect.Code
	left     int32
	reserved map[string]int32 // by key: what was answered
	calls    []string
}

func newService() *service { return &service{left: 10, reserved: map[string]int32{}} }

// will has the next n calls fail.
func (s *service) will(n int, code connect.Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails, s.code, s.calls = n, code, nil
}

// got returns the calls since: their methods, and their keys.
func (s *service) got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(countProcedure, connect.NewUnaryHandler(countProcedure, s.Count, connect.WithIdempotency(connect.IdempotencyNoSideEffects)))
	mux.Handle(reserveProcedure, connect.NewUnaryHandler(reserveProcedure, s.Reserve))
	return mux
}

func (s *service) Count(_ context.Context, r *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.Int32Value], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answer(s.left, r)
}

func (s *service) Reserve(_ context.Context, r *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.Int32Value], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header().Get("Idempotency-Key")
	left, known := s.reserved[key]
	if !known {
		s.left--
		left = s.left
		if key != "" {
			s.reserved[key] = left
		}
	}
	return s.answer(left, r)
}

// answer needs the lock.
func (s *service) answer(n int32, r connect.AnyRequest) (*connect.Response[wrapperspb.Int32Value], error) {
	s.calls = append(s.calls, strings.TrimSpace(r.HTTPMethod()+" "+r.Header().Get("Idempotency-Key")))
	if s.fails > 0 {
		s.fails--
		return nil, connect.NewError(s.code, errors.New("not now"))
	}
	return connect.NewResponse(wrapperspb.Int32(n)), nil
}
