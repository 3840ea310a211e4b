package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"

	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// Both clients give a call this long.
const total = 4 * time.Second

// client sends price queries, and what it sends is counted.
type client struct {
	name  string
	http  *http.Client
	url   string
	tally *tally
	close func()
}

// newClients makes the two contestants. They share nothing but the address.
func newClients(address string) ([]*client, error) {
	bare := newClient("bare", address)
	bare.http = &http.Client{Transport: bare.tally.counting(newConnections()), Timeout: total}

	telltale := newClient("telltale", address)
	transport, err := resilientTransport(telltale.tally.counting(newConnections()))
	if err != nil {
		return nil, err
	}
	telltale.http = &http.Client{Transport: transport}
	telltale.close = func() { _ = transport.Close(context.Background()) }
	return []*client{bare, telltale}, nil
}

// resilientTransport is what the demo is about: the pipeline that stands between a client and its connections.
func resilientTransport(base http.RoundTripper) (*httpres.Transport, error) {
	bulkhead, err := resilience.NewBulkhead(resilience.BulkheadConfig{Name: "pricing-calls", MaxConcurrent: 200})
	if err != nil {
		return nil, err
	}
	breaker, err := resilience.NewBreaker(resilience.BreakerConfig{
		Name: "pricing", FailureRatio: 0.6, MinCalls: 20, Window: 2 * time.Second, Cooldown: 500 * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	return httpres.NewTransport(otelhttp.NewTransport(base), httpres.Config{
		Name: "pricing.get",
		Layers: []resilience.Layer{ // outermost first
			bulkhead,
			resilience.Timeout{Name: "total", After: total},
			resilience.Retry{MaxAttempts: 4, Backoff: resilience.Exponential{Base: 50 * time.Millisecond}, MaxDelay: 2 * time.Second},
			breaker,
			resilience.Timeout{Name: "attempt", After: 500 * time.Millisecond},
		},
	})
}

func newClient(name, address string) *client {
	return &client{name: name, url: "http://" + address + "/price?item=", tally: newTally(), close: func() {}}
}

// newConnections returns a transport of a client's own, so that the contestants share no connection.
func newConnections() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return t
}

// get asks for one price; only a whole answer with status 200 is a success.
func (c *client) get(ctx context.Context, item int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint(c.url, item), nil)
	if err != nil {
		return err
	}
	req.Header.Set(clientHeader, c.name)
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}

func closeClients(clients []*client) {
	for _, c := range clients {
		c.http.CloseIdleConnections()
		c.close()
	}
}
