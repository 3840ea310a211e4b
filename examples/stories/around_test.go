package stories_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/telltale-go/telltale/resilience"
)

var errUnauthorized = errors.New("token expired")

type tokenKey struct{}

// Tokens expire. A layer without a type renews the token once and calls again; it is the same for every pipeline that
// talks to this API, whatever it returns. It stands inside the retry: a renewed token is no attempt of its own.
func Example_around() {
	ctx := context.Background()
	token := "old"
	withToken := resilience.Around("token", func(ctx context.Context, next func(context.Context) error) error {
		err := next(context.WithValue(ctx, tokenKey{}, token))
		if errors.Is(err, errUnauthorized) {
			token = "new" // of a real service: fetched, and guarded
			err = next(context.WithValue(ctx, tokenKey{}, token))
		}
		return err
	})
	call := func(ctx context.Context) (string, error) {
		if ctx.Value(tokenKey{}) == "old" {
			return "", errUnauthorized
		}
		return "welcome", nil
	}

	fmt.Println(resilience.Do(ctx, call, resilience.Retry{Backoff: resilience.NoDelay}, withToken))
	// Output: welcome <nil>
}
