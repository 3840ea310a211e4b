package main

import (
	"context"
	"net/http"
	"strconv"

	"github.com/telltale-go/telltale/examples/clients/openapi/orders"
	"github.com/telltale-go/telltale/httpres"
)

// newClient makes a generated client whose requests go through a pipeline. Nothing of what is generated is touched.
func newClient(url string, cfg httpres.Config) (*orders.ClientWithResponses, error) {
	transport, err := httpres.NewTransport(nil, cfg)
	if err != nil {
		return nil, err
	}
	return orders.NewClientWithResponses(url, orders.WithHTTPClient(&http.Client{Transport: transport}))
}

// place places an order. The key is made once for the order, where it is thought of, such as the number of the cart: with
// it the request may be sent again, also by who calls place again after an error.
func place(ctx context.Context, client *orders.ClientWithResponses, key, item string) (*orders.Order, error) {
	response, err := client.PlaceOrderWithResponse(ctx, &orders.PlaceOrderParams{IdempotencyKey: &key}, orders.NewOrder{Item: item})
	if err != nil {
		return nil, err
	}
	if response.JSON201 == nil {
		return nil, unexpected(response.StatusCode())
	}
	return response.JSON201, nil
}

// find returns an order. A GET needs no key.
func find(ctx context.Context, client *orders.ClientWithResponses, id int64) (*orders.Order, error) {
	response, err := client.GetOrderWithResponse(ctx, id)
	if err != nil {
		return nil, err
	}
	if response.JSON200 == nil {
		return nil, unexpected(response.StatusCode())
	}
	return response.JSON200, nil
}

// unexpected is a status that is no answer. What failed in the last attempt, too, arrives as a response.
type unexpected int

func (u unexpected) Error() string { return "orders: unexpected status " + strconv.Itoa(int(u)) }

// StatusCode is asked by resilience.KindOf.
func (u unexpected) StatusCode() int { return int(u) }
