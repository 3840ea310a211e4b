// Command sdk calls a service through an SDK that retries by itself: the SDK's retries are off, and one pipeline owns
// them.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/examples/clients/internal/show"
	"github.com/telltale-go/telltale/resilience"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sdk:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	service := &service{}
	server := httptest.NewServer(service)
	defer server.Close()
	bus := events.NewBus() // in a service events.Default()
	defer show.Events(bus, out)()
	client := newClient(server.URL, local)
	queue, err := newQueue(client, server.URL+"/orders.fifo", time.Second, bus)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "attempts that the SDK makes of a call:", client.Options().Retryer.MaxAttempts())

	for _, play := range []struct {
		what    string
		answers []answer
	}{
		{"the service is unavailable, and throttles: the pipeline sends again", []answer{unavailable, throttled}},
		{"it hangs: the attempt's limit passes", []answer{hangs}},
		{"there is no such queue: once is enough", []answer{noSuchQueue}},
	} {
		fmt.Fprintf(out, "\n# %s\n", play.what)
		service.will(play.answers...)
		_, err := queue.send(ctx, "order-42", "2 chairs")
		fmt.Fprintf(out, "-> %d requests, %v\n", len(service.got()), resilience.KindOf(err))
	}
	return nil
}
