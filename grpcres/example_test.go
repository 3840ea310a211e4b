package grpcres_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
)

func ExampleClient() {
	listener, stop := flaky(2)
	defer stop()
	client := grpcres.MustClient(grpcres.Config{
		Name: "health",
		Layers: []resilience.Layer{ // outermost first
			resilience.Timeout{Name: "total", After: 5 * time.Second},
			resilience.Retry{Backoff: resilience.Constant(time.Millisecond)},
			resilience.Timeout{Name: "attempt", After: time.Second},
		},
		Idempotent: grpcres.Methods("/grpc.health.v1.Health/Check"),
	})
	defer client.Close(context.Background())
	defer events.Default().RetryScheduled.Subscribe(func(_ context.Context, e events.RetryScheduled) {
		fmt.Println("again after attempt", e.Attempt, "failed:", status.Code(e.Err))
	})()

	conn, err := grpc.NewClient("passthrough:///health", append(client.DialOptions(),
		listener, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	reply, err := healthpb.NewHealthClient(conn).Check(context.Background(), &healthpb.HealthCheckRequest{})
	fmt.Println(reply.GetStatus(), err)
	// Output:
	// again after attempt 1 failed: Unavailable
	// again after attempt 2 failed: Unavailable
	// SERVING <nil>
}

func ExampleServer() {
	bus := events.NewBus()
	places := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "handlers", MaxConcurrent: 1, Bus: bus})
	server := grpcres.MustServer(grpcres.ServerConfig{Name: "api", Layers: []resilience.Layer{places}, Bus: bus})
	_ = grpc.NewServer(server.ServerOptions()...) // register your services with it

	lease, err := places.Acquire(context.Background()) // somebody is served
	if err != nil {
		panic(err)
	}
	info := &grpc.UnaryServerInfo{FullMethod: "/shop.Orders/List"}
	list := func(context.Context, any) (any, error) { return "orders", nil }
	_, err = server.Unary(context.Background(), nil, info, list)
	fmt.Println(status.Code(err), status.Convert(err).Message(), len(status.Convert(err).Details()))
	lease.Release(nil)
	fmt.Println(server.Unary(context.Background(), nil, info, list))
	// Output:
	// Unavailable turned away: full 1
	// orders <nil>
}

func ExampleMethods() {
	idempotent := grpcres.Methods("/shop.Orders/Get", "/shop.Catalogue/")
	for _, method := range []string{"/shop.Orders/Get", "/shop.Orders/Place", "/shop.Catalogue/Search"} {
		fmt.Println(method, idempotent(method))
	}
	// Output:
	// /shop.Orders/Get true
	// /shop.Orders/Place false
	// /shop.Catalogue/Search true
}

// flaky starts a health server in memory that is down for the first calls.
func flaky(calls int) (listener grpc.DialOption, stop func()) {
	l := bufconn.Listen(1 << 16)
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if calls--; calls >= 0 {
			return nil, status.Error(codes.Unavailable, "down")
		}
		return next(ctx, req)
	}))
	healthpb.RegisterHealthServer(s, health.NewServer())
	go s.Serve(l)
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }), s.Stop
}
