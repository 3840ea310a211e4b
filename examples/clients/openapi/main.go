// Command openapi calls an API through a client that oapi-codegen generated, whose http.Client has a pipeline as its
// transport.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/examples/clients/internal/show"
	"github.com/telltale-go/telltale/examples/clients/openapi/orders"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	service := newService()
	server := httptest.NewServer(service.handler())
	defer server.Close()
	cfg := httpres.Standard("orders")
	cfg.Bus = events.NewBus() // in a service leave it out: it is events.Default()
	defer show.Events(cfg.Bus, out)()
	client, err := newClient(server.URL, cfg)
	if err != nil {
		return err
	}

	for _, play := range []struct {
		what   string
		call   func() (*orders.Order, error)
		fails  int
		status int
	}{
		{"an order is placed, and its answer gets lost", func() (*orders.Order, error) { return place(ctx, client, "cart-7", "chair") }, 1, http.StatusBadGateway},
		{"it is asked for, of a service that restarts", func() (*orders.Order, error) { return find(ctx, client, 1) }, 1, http.StatusServiceUnavailable},
		{"there is none of that number", func() (*orders.Order, error) { return find(ctx, client, 2) }, 0, 0},
		{"the service is down", func() (*orders.Order, error) { return find(ctx, client, 1) }, 3, http.StatusServiceUnavailable},
	} {
		fmt.Fprintf(out, "\n# %s\n", play.what)
		service.will(play.fails, play.status)
		order, err := play.call()
		fmt.Fprintf(out, "-> %+v %v (%v), after %q\n", order, err, resilience.KindOf(err), service.requests())
	}
	fmt.Fprintf(out, "\n%d order was made\n", len(service.orders))
	return nil
}
