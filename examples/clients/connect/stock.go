package main

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/telltale-go/telltale/httpres"
)

const (
	countProcedure   = "/shop.v1.Stock/Count"
	reserveProcedure = "/shop.v1.Stock/Reserve"
)

// stock is a client of the stock service, as a generator would write it: the name of an item in, a number out.
type stock struct {
	count   *connect.Client[wrapperspb.StringValue, wrapperspb.Int32Value]
	reserve *connect.Client[wrapperspb.StringValue, wrapperspb.Int32Value]
}

// newStock makes a client whose calls go through a pipeline. Connect tells a unary call's failure by the HTTP status, so
// the transport sees an unavailable, resource_exhausted or deadline_exceeded as 503, 429 or 504.
func newStock(url string, cfg httpres.Config) (*stock, error) {
	transport, err := httpres.NewTransport(nil, cfg)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: transport}
	return &stock{
		// In the schema: option idempotency_level = NO_SIDE_EFFECTS. Such calls are sent as GET, and so may be repeated.
		count: connect.NewClient[wrapperspb.StringValue, wrapperspb.Int32Value](client, url+countProcedure,
			connect.WithIdempotency(connect.IdempotencyNoSideEffects), connect.WithHTTPGet()),
		// A POST: it is sent once, unless the call has a key by which the server knows it.
		reserve: connect.NewClient[wrapperspb.StringValue, wrapperspb.Int32Value](client, url+reserveProcedure),
	}, nil
}

// Count returns how many there are of an item.
func (s *stock) Count(ctx context.Context, item string) (int32, error) {
	response, err := s.count.CallUnary(ctx, connect.NewRequest(wrapperspb.String(item)))
	if err != nil {
		return 0, err
	}
	return response.Msg.Value, nil
}

// Reserve takes one of an item and returns how many are left. The key is the order's: with it the call may be sent again,
// without it, "", it is sent once.
func (s *stock) Reserve(ctx context.Context, item, key string) (int32, error) {
	request := connect.NewRequest(wrapperspb.String(item))
	if key != "" {
		request.Header().Set("Idempotency-Key", key)
	}
	response, err := s.reserve.CallUnary(ctx, request)
	if err != nil {
		return 0, err
	}
	return response.Msg.Value, nil
}
