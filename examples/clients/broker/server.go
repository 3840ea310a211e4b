package main

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// startServer starts a NATS server in this process, which keeps its streams in dir. Port -1 takes a free one.
func startServer(dir string, port int) (*server.Server, error) {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, errors.New("the NATS server does not start")
	}
	return s, nil
}

// createStream makes the stream that keeps the orders. It recognises a message for longer than the outbox waits between
// two attempts, so that one whose acknowledgement was lost is not there twice, unless an outage comes between them.
func createStream(ctx context.Context, conn *nats.Conn) (jetstream.Stream, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	return js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, Duplicates: 10 * time.Minute})
}
