// Command connect calls a Connect service with an http.Client whose transport is a pipeline: what may be sent again is,
// by GET or by a key, and everything else is sent once.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"

	"connectrpc.com/connect"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/examples/clients/internal/show"
	"github.com/telltale-go/telltale/httpres"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "connect:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	service := newService()
	server := httptest.NewServer(service.handler())
	defer server.Close()
	cfg := httpres.Standard("stock")
	cfg.Bus = events.NewBus() // in a service leave it out: it is events.Default()
	defer show.Events(cfg.Bus, out)()
	stock, err := newStock(server.URL, cfg)
	if err != nil {
		return err
	}

	for _, play := range []struct {
		what string
		call func() (int32, error)
		code connect.Code
	}{
		{"a question, sent by GET", func() (int32, error) { return stock.Count(ctx, "chair") }, connect.CodeUnavailable},
		{"a change with a key", func() (int32, error) { return stock.Reserve(ctx, "chair", "order-42") }, connect.CodeUnavailable},
		{"a change without a key", func() (int32, error) { return stock.Reserve(ctx, "chair", "") }, connect.CodeUnavailable},
		{"a question that is wrong", func() (int32, error) { return stock.Count(ctx, "chiar") }, connect.CodeNotFound},
	} {
		fmt.Fprintf(out, "\n# %s; the service answers with %v once\n", play.what, play.code)
		service.will(1, play.code)
		n, err := play.call()
		fmt.Fprintf(out, "-> %d chairs, %v (%v), after %q\n", n, err, kindOf(err), service.got())
	}
	return nil
}
