package grpcres

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	"github.com/telltale-go/telltale/resilience"
)

// Server handles a gRPC server's calls and streams in its layers. Make one with [NewServer]; it is safe for concurrent
// use.
//
// A call that a layer turns away is answered with a status that says when to come back, both as a google.rpc.RetryInfo
// and as the trailer grpc-retry-pushback-ms, which gRPC's own retries heed: RESOURCE_EXHAUSTED if the caller's rate is
// too high, UNAVAILABLE otherwise, which another server may do better. A handler that panics is answered with INTERNAL,
// without saying what it panicked with; the panic is published as the error of the attempt and of the execution, a
// *resilience.PanicError, and goes to gRPC's own log.
//
// The client's deadline is the context's, as ever: a call that comes too late is not handled.
type Server struct {
	cfg      ServerConfig
	pipeline *resilience.Pipeline[any]
}

var errServerNotMade = errors.New("grpcres: the Server was not made by NewServer")

// NewServer makes a server. Its error is that of resilience.NewPipeline, or tells which option is wrong.
func NewServer(cfg ServerConfig) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("grpcres: server %q: %w", cfg.Name, err)
	}
	pipeline, err := resilience.NewPipeline(resilience.PipelineConfig[any]{
		Name:          cfg.Name,
		Layers:        cfg.Layers,
		FailureIf:     cfg.FailureIf,
		Discard:       discard,
		RecoverPanics: true,
		Bus:           cfg.Bus,
	})
	if err != nil {
		return nil, err
	}
	return &Server{cfg: cfg, pipeline: pipeline}, nil
}

// MustServer is NewServer, and panics with its error.
func MustServer(cfg ServerConfig) *Server {
	s, err := NewServer(cfg)
	if err != nil {
		panic(err)
	}
	return s
}

// ServerOptions returns the options with which a grpc.Server handles everything in the layers.
func (s *Server) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(s.Unary), grpc.ChainStreamInterceptor(s.Stream)}
}

// Unary is a grpc.UnaryServerInterceptor.
func (s *Server) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	reply, err := s.handle(ctx, info.FullMethod, func(ctx context.Context) (any, error) { return handler(ctx, req) })
	return reply, s.answer(err, func(pushback pushback) { grpc.SetTrailer(ctx, pushback.trailer()) })
}

// Stream is a grpc.StreamServerInterceptor: a stream has its permits until its handler returns.
func (s *Server) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	_, err := s.handle(ss.Context(), info.FullMethod, func(ctx context.Context) (any, error) {
		return nil, handler(srv, &handledStream{ss, ctx})
	})
	return s.answer(err, func(pushback pushback) { ss.SetTrailer(pushback.trailer()) })
}

// handledStream is a stream with the context of the layers.
type handledStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *handledStream) Context() context.Context { return s.ctx }

func (s *Server) handle(ctx context.Context, method string, handler resilience.Operation[any]) (any, error) {
	if s.pipeline == nil {
		return nil, errServerNotMade
	}
	if p := s.cfg.Priority(ctx, method); p != resilience.PriorityNormal {
		ctx = resilience.WithPriority(ctx, p)
	}
	return s.pipeline.Do(ctx, handler)
}

// Describe returns the pipeline as data.
func (s *Server) Describe() resilience.Description {
	if s.pipeline == nil {
		return resilience.Description{}
	}
	return s.pipeline.Describe()
}

// Close refuses further calls with UNAVAILABLE and takes the server off its bus. Calls that run go on. Closing again
// does nothing.
func (s *Server) Close(ctx context.Context) error {
	if s.pipeline == nil {
		return nil
	}
	return s.pipeline.Close(ctx)
}
