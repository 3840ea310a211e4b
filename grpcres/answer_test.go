package grpcres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
)

// trailers is the transport of a handler that is called by itself.
type trailers struct {
	grpc.ServerTransportStream
	mu  sync.Mutex
	got metadata.MD
}

func (s *trailers) SetTrailer(md metadata.MD) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = metadata.Join(s.got, md)
	return nil
}

// handle has a server handle a call, and returns what the client gets: status, delay and pushback.
func handle(ctx context.Context, g *grpcres.Server, handler grpc.UnaryHandler) string {
	s := new(trailers)
	_, err := g.Unary(grpc.NewContextWithServerTransportStream(ctx, s), new(text), &grpc.UnaryServerInfo{FullMethod: callMethod}, handler)
	after, _ := retryInfo(err)
	return fmt.Sprint(status.Code(err), ": ", status.Convert(err).Message(), " ", after, s.got["grpc-retry-pushback-ms"])
}

// GRPC-01: what a layer of a server refuses or ends.
func TestServerAnswersForItsLayers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := func(context.Context, any) (any, error) { return nil, errDown }
		breaker := func() resilience.Layer {
			return resilience.MustBreaker(resilience.BreakerConfig{Name: "b", ConsecutiveFailures: 1, Cooldown: 20 * time.Second, Bus: events.NewBus()})
		}
		server := func(cfg grpcres.ServerConfig) *grpcres.Server {
			cfg.Name, cfg.Bus = "server", events.NewBus()
			return grpcres.MustServer(cfg)
		}
		open := server(grpcres.ServerConfig{Layers: []resilience.Layer{breaker()}})
		handle(t.Context(), open, fails)
		if got := handle(t.Context(), open, fails); got != "Unavailable: circuit breaker is open 20s [20000]" {
			t.Errorf("an open breaker: %s", got)
		}
		tolerant := server(grpcres.ServerConfig{Layers: []resilience.Layer{breaker()}, FailureIf: func(error) bool { return false }})
		handle(t.Context(), tolerant, fails)
		if got := handle(t.Context(), tolerant, fails); got != "Unavailable: down 0s []" {
			t.Errorf("a breaker that counts nothing: %s", got)
		}
		missing := server(grpcres.ServerConfig{Layers: []resilience.Layer{breaker()}})
		for range 2 {
			got := handle(t.Context(), missing, func(context.Context, any) (any, error) { return nil, status.Error(codes.NotFound, "none") })
			if got != "NotFound: none 0s []" {
				t.Errorf("what is no failure of the server's: %s", got)
			}
		}
		limited := server(grpcres.ServerConfig{Layers: []resilience.Layer{resilience.Timeout{After: time.Second}}})
		if got := handle(t.Context(), limited, func(ctx context.Context, _ any) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}); got != "DeadlineExceeded: resilience: timeout: no result within 1s 0s []" {
			t.Errorf("a timeout: %s", got)
		}
		if err := limited.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := handle(t.Context(), limited, fails); got != "Unavailable: the server is closing 1s [1000]" {
			t.Errorf("a closed server: %s", got)
		}
	})
}

// relayed is what a handler returns that has called another service through a client of ours.
type relayed struct{ resilience.BreakerOpenError }

func (*relayed) GRPCStatus() *status.Status { return status.New(codes.Internal, "the other service") }

// GRPC-01: a handler's own status is left alone, whatever its error wraps.
func TestHandlersOwnStatusIsNotThatOfALayer(t *testing.T) {
	g := grpcres.MustServer(grpcres.ServerConfig{Name: "server", Bus: events.NewBus()})
	if got := handle(t.Context(), g, func(context.Context, any) (any, error) { return nil, new(relayed) }); got != "Internal: the other service 0s []" {
		t.Error(got)
	}
}
