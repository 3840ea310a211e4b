package stories_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// A geocoder sells ten requests a second. The batch job may be slow, so its calls wait for their turns; a page cannot, and
// is refused as soon as it is plain that its deadline comes first. Both have one allowance: the limiter is shared.
func Test_sharedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sold := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "geocoder", Rate: 10, Burst: 1, MaxWait: time.Minute})
		batch := resilience.MustPipeline(resilience.PipelineConfig[string]{
			Name: "geocode.batch",
			// Inside the retry, since each attempt is paid for.
			Layers: []resilience.Layer{resilience.Retry{MaxAttempts: 3}, sold},
		})
		page := resilience.MustPipeline(resilience.PipelineConfig[string]{
			Name:   "geocode.page",
			Layers: []resilience.Layer{resilience.Timeout{After: 50 * time.Millisecond}, sold},
		})

		service := &remote{}
		began := time.Now()
		for range 11 {
			if _, err := batch.Do(t.Context(), service.get); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("11 addresses took %v", took)
		}

		_, err := page.Do(t.Context(), service.get)
		limited := new(resilience.LimitedError)
		if !errors.As(err, &limited) || limited.RetryAfter() != 100*time.Millisecond || time.Since(began) != time.Second {
			t.Errorf("the page got %v", err)
		}
		time.Sleep(limited.RetryAfter())
		if _, err := page.Do(t.Context(), service.get); err != nil {
			t.Errorf("the page, when it came back: %v", err)
		}
	})
}

// What comes too often is refused, and told when to come back.
func Example_rateLimit() {
	signups := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "signups", Rate: 60, Per: time.Hour, Burst: 2})
	for range 3 {
		err := signups.Run(context.Background(), func(context.Context) error { return nil })
		fmt.Println(resilience.KindOf(err), resilience.KindOf(err).HTTPStatus())
	}
	// Output:
	// ok 200
	// ok 200
	// limited 429
}
