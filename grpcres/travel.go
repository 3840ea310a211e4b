package grpcres

import (
	"context"
	"strconv"

	"google.golang.org/grpc/metadata"

	"github.com/telltale-go/telltale/resilience"
)

// PriorityKey is the metadata by which the priority of a call travels: the name of a resilience.Priority. A client
// sends it for each priority but the normal one.
const PriorityKey = "telltale-priority"

// attemptsKey is the metadata that numbers attempts: gRFC A6, "Exposed Retry Metadata".
const attemptsKey = "grpc-previous-rpc-attempts"

// outgoing adds to the metadata of an attempt what is to travel with it, instead of what the caller has there: nothing
// for the first attempt of a call of normal priority.
func outgoing(ctx context.Context) context.Context {
	n, p := resilience.AttemptNumber(ctx), resilience.PriorityOf(ctx)
	if n <= 1 && p == resilience.PriorityNormal {
		return ctx
	}
	md, _ := metadata.FromOutgoingContext(ctx) // a copy
	if md == nil {
		md = metadata.MD{}
	}
	if n > 1 {
		md.Set(attemptsKey, strconv.Itoa(n-1))
	}
	if p != resilience.PriorityNormal {
		md.Set(PriorityKey, p.String())
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// PreviousAttempts returns, on a server, how many attempts of the call its client made before this one, as far as it
// tells (grpc-previous-rpc-attempts); 0 for the first.
func PreviousAttempts(ctx context.Context) int {
	for _, v := range metadata.ValueFromIncomingContext(ctx, attemptsKey) {
		if n, err := strconv.Atoi(v); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// PriorityOf returns, on a server, the priority that a call came with; PriorityNormal if it came with none that is
// known.
func PriorityOf(ctx context.Context) resilience.Priority {
	for _, v := range metadata.ValueFromIncomingContext(ctx, PriorityKey) {
		for p := resilience.PrioritySheddable; p <= resilience.PriorityCritical; p++ {
			if v == p.String() {
				return p
			}
		}
	}
	return resilience.PriorityNormal
}
