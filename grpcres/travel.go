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

// travelling returns the metadata that an attempt has to have, as pairs: nil for the first of a call of normal
// priority.
func travelling(ctx context.Context) (pairs []string) {
	if n := resilience.AttemptNumber(ctx); n > 1 {
		pairs = append(pairs, attemptsKey, strconv.Itoa(n-1))
	}
	if p := resilience.PriorityOf(ctx); p != resilience.PriorityNormal {
		pairs = append(pairs, PriorityKey, p.String())
	}
	return pairs
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
