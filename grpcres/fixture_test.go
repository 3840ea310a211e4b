package grpcres_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// The methods of the server, which take and give StringValues.
const (
	callMethod = "/test.Echo/Call" // unary
	downMethod = "/test.Echo/Down" // the server streams
	upMethod   = "/test.Echo/Up"   // the client streams
	bothMethod = "/test.Echo/Both"
)

var (
	downDesc = &grpc.StreamDesc{StreamName: "Down", ServerStreams: true}
	upDesc   = &grpc.StreamDesc{StreamName: "Up", ClientStreams: true}
	bothDesc = &grpc.StreamDesc{StreamName: "Both", ServerStreams: true, ClientStreams: true}

	idempotent = grpcres.Methods("/test.Echo/")
)

type text = wrapperspb.StringValue

// script is what a server does, with the number of the call, from 1 on.
type script struct {
	unary  func(ctx context.Context, n int, in string) (string, error)
	stream func(n int, s grpc.ServerStream) error
}

// logged is what gRPC logs as an error.
var logged safeBuffer

func TestMain(m *testing.M) {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, &logged))
	m.Run()
}

// safeBuffer is a buffer that is safe for concurrent use.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// take returns what was written since.
func (b *safeBuffer) take() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.buf.Reset()
	return b.buf.String()
}

// server is a real one, in memory.
type server struct {
	script
	calls atomic.Int32

	mu          sync.Mutex
	before      []string // the values of grpc-previous-rpc-attempts
	connections []net.Conn
	dials       int
	refuse      int // how many of the next dials fail
	listener    *bufconn.Listener
}

func (s *server) note(ctx context.Context) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	md, _ := metadata.FromIncomingContext(ctx)
	s.before = append(s.before, md["grpc-previous-rpc-attempts"]...)
	return int(s.calls.Add(1))
}

var errDial = errors.New("no route")

func (s *server) dial(ctx context.Context, _ string) (net.Conn, error) {
	s.mu.Lock()
	s.dials++
	if s.refuse > 0 {
		s.refuse--
		s.mu.Unlock()
		return nil, errDial
	}
	s.mu.Unlock()
	c, err := s.listener.DialContext(ctx)
	if err == nil {
		s.mu.Lock()
		s.connections = append(s.connections, c)
		s.mu.Unlock()
	}
	return c, err
}

// cut cuts all connections.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.connections {
		c.Close()
	}
}

func serve(t testing.TB, does script, opts ...grpc.ServerOption) *server {
	t.Helper()
	s := &server{script: does, listener: bufconn.Listen(1 << 16)}
	g := grpc.NewServer(append(opts, grpc.WaitForHandlers(true))...)
	streams := func(_ any, ss grpc.ServerStream) error { return s.stream(s.note(ss.Context()), ss) }
	g.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Call", Handler: func(_ any, ctx context.Context, decode func(any) error,
			interceptor grpc.UnaryServerInterceptor) (any, error) {
			in := new(text)
			if err := decode(in); err != nil {
				return nil, err
			}
			handle := func(ctx context.Context, req any) (any, error) {
				out, err := s.unary(ctx, s.note(ctx), req.(*text).Value)
				return wrapperspb.String(out), err
			}
			if interceptor == nil {
				return handle(ctx, in)
			}
			return interceptor(ctx, in, &grpc.UnaryServerInfo{FullMethod: callMethod}, handle)
		}}},
		Streams: []grpc.StreamDesc{
			{StreamName: "Down", Handler: streams, ServerStreams: true},
			{StreamName: "Up", Handler: streams, ClientStreams: true},
			{StreamName: "Both", Handler: streams, ServerStreams: true, ClientStreams: true},
		},
	}, struct{}{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.Serve(s.listener)
	}()
	t.Cleanup(func() {
		g.Stop()
		<-done
	})
	return s
}

// bubble runs a test by its name in a bubble, where time passes when everybody waits.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// connect makes a channel to the server.
func connect(t testing.TB, s *server, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	return connectTo(t, s, "passthrough:///server.test", opts...)
}

func connectTo(t testing.TB, s *server, target string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	cc, err := grpc.NewClient(target, append(opts,
		grpc.WithContextDialer(s.dial), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: time.Millisecond, Multiplier: 1, MaxDelay: time.Millisecond},
			MinConnectTimeout: time.Second}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}

var thrice = resilience.Retry{MaxAttempts: 3, Backoff: resilience.Constant(5 * time.Millisecond)}

func client(t *testing.T, cfg grpcres.Config) (*grpcres.Client, *resiliencetest.Recorder) {
	t.Helper()
	if cfg.Name == "" {
		cfg.Name = "test"
	}
	if cfg.Bus == nil {
		cfg.Bus = events.NewBus()
	}
	heard := resiliencetest.Record(cfg.Bus)
	c, err := grpcres.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, heard
}

func layers(all ...resilience.Layer) grpcres.Config { return grpcres.Config{Layers: all} }

func call(ctx context.Context, cc *grpc.ClientConn, in string, opts ...grpc.CallOption) (string, error) {
	out := new(text)
	err := cc.Invoke(ctx, callMethod, wrapperspb.String(in), out, opts...)
	return out.Value, err
}

// down opens a stream as generated code does.
func down(ctx context.Context, cc *grpc.ClientConn, in string) (grpc.ClientStream, error) {
	s, err := cc.NewStream(ctx, downDesc, downMethod)
	if err != nil {
		return nil, err
	}
	if err := s.SendMsg(wrapperspb.String(in)); err != nil {
		return nil, err
	}
	return s, s.CloseSend()
}

func receive(s interface{ RecvMsg(any) error }) (string, error) {
	m := new(text)
	err := s.RecvMsg(m)
	return m.Value, err
}

// all receives to the end.
func all(s interface{ RecvMsg(any) error }) (got []string, err error) {
	for {
		m, err := receive(s)
		if err == io.EOF {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, m)
	}
}

func sendText(s interface{ SendMsg(any) error }, v string) error {
	return s.SendMsg(wrapperspb.String(v))
}

var errDown = status.Error(codes.Unavailable, "down")

func (s *server) served(t *testing.T, want int) {
	t.Helper()
	if got := int(s.calls.Load()); got != want {
		t.Errorf("the server got %d calls, want %d", got, want)
	}
}

// bulkhead is one place.
func bulkhead() *resilience.Bulkhead {
	return resilience.MustBulkhead(resilience.BulkheadConfig{Name: "places", MaxConcurrent: 1, Bus: events.NewBus()})
}

func used(b *resilience.Bulkhead) int64 { return b.Snapshot().Usage }
