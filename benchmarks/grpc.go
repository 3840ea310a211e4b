package main

import (
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/grpcres"
)

var checks = workload{
	name: "gRPC, a unary call that succeeds", exchange: true,
	doc: "A health check over loopback on one channel. The server runs in the same process: its part is in every line. Telltale is grpcres.Standard: " +
		"total timeout, retry, breaker, timeout of the attempt. grpc-go's own retry has three attempts.",
	contestants: []contestant{
		checker("bare channel", floor, func() []grpc.DialOption { return []grpc.DialOption{grpc.WithDisableRetry()} }),
		checker("Telltale", ours, func() []grpc.DialOption { return standardChannel(events.NewBus()) }),
		checker("Telltale, spans and metrics", ours, func() []grpc.DialOption { return standardChannel(observed()) }),
		checker("grpc-go's own retry", peer, func() []grpc.DialOption {
			return []grpc.DialOption{grpc.WithDefaultServiceConfig(`{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 3,
				"initialBackoff": "0.25s", "maxBackoff": "1s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`)}
		}),
	},
}

func standardChannel(bus *events.Bus) []grpc.DialOption {
	cfg := grpcres.Standard("benchmark")
	cfg.Bus = bus
	return grpcres.MustClient(cfg).DialOptions()
}

// serveGRPC starts the one server of all.
var serveGRPC = sync.OnceValue(func() (target string) {
	listener := listen()
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	go server.Serve(listener)
	return "passthrough:///" + listener.Addr().String()
})

// checker is a contestant that asks how the server is.
func checker(name string, r role, options func() []grpc.DialOption) contestant {
	return contestant{name, r, func() worker {
		conn, err := grpc.NewClient(serveGRPC(), append(options(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		if err != nil {
			panic(err)
		}
		client := healthpb.NewHealthClient(conn)
		return func() func() bool {
			return func() bool {
				reply, err := client.Check(background, &healthpb.HealthCheckRequest{})
				return err == nil && reply.GetStatus() == healthpb.HealthCheckResponse_SERVING
			}
		}
	}}
}
