package resilience_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// LIM-05: who reads the error alone knows which limiter it was, how full, and when to come back.
func TestALimitersRefusalTellsWhichItWasAndHowFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "pool", MaxConcurrent: 2, MaxQueue: 1, MaxWait: time.Second, Bus: events.Off()})
		for range 2 {
			lease, _ := queue.Acquire(t.Context())
			defer lease.Release(nil)
		}
		waited := make(chan error, 1)
		go func() { waited <- queue.Run(t.Context(), succeed) }()
		synctest.Wait()
		full := queue.Run(t.Context(), succeed)

		quota := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "quota", Rate: 2, Per: time.Minute, Burst: 1, Bus: events.Off()})
		_ = quota.Run(t.Context(), succeed)
		rate := quota.Run(t.Context(), succeed)
		_ = quota.SetRate(3, time.Minute, 1)
		retuned := quota.Run(t.Context(), succeed)

		search := resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "search", Initial: 4, Bus: events.Off()})
		for range 2 {
			lease, _ := search.Acquire(t.Context())
			defer lease.Release(nil)
		}
		shed := search.Run(resilience.WithPriority(t.Context(), resilience.PrioritySheddable), succeed)

		tenants := resilience.MustKeyed(resilience.KeyedConfig{Name: "tenants", Bus: events.Off(), New: func(string) (resilience.Gate, error) {
			return resilience.NewBulkhead(resilience.BulkheadConfig{Name: "one", MaxConcurrent: 1, Bus: events.Off()})
		}})
		own := ints(events.Off(), tenants)
		var tenant error
		_, _ = own.DoKey(t.Context(), "a secret key", func(ctx context.Context) (int, error) {
			_, tenant = own.DoKey(ctx, "a secret key", one)
			return 0, nil
		})
		for _, c := range []struct {
			err  error
			text string
			want resilience.LimitedError
		}{
			{full, "bulkhead pool rejected the call: full (2 of 2 running, 1 waiting)",
				resilience.LimitedError{Layer: "pool", Type: events.TypeBulkhead, Reason: events.ReasonFull, Limit: 2, Usage: 2, Queued: 1}},
			{<-waited, "bulkhead pool rejected the call: queue timeout (2 of 2 running)",
				resilience.LimitedError{Layer: "pool", Type: events.TypeBulkhead, Reason: events.ReasonQueueTimeout, Limit: 2, Usage: 2}},
			{rate, "rate limiter quota rejected the call: rate (2 per 1m0s), retry after 30s",
				resilience.LimitedError{Layer: "quota", Type: events.TypeRateLimiter, Reason: events.ReasonRate, Limit: 2, Per: time.Minute, After: 30 * time.Second}},
			{retuned, "rate limiter quota rejected the call: rate (3 per 1m0s), retry after 20s",
				resilience.LimitedError{Layer: "quota", Type: events.TypeRateLimiter, Reason: events.ReasonRate, Limit: 3, Per: time.Minute, After: 20 * time.Second}},
			{shed, "adaptive limiter search rejected the call: shed (2 of 4 running)",
				resilience.LimitedError{Layer: "search", Type: events.TypeAdaptiveLimiter, Reason: events.ReasonShed, Limit: 4, Usage: 2}},
			{tenant, "bulkhead tenants rejected the call: full (1 of 1 running)",
				resilience.LimitedError{Layer: "tenants", Type: events.TypeBulkhead, Reason: events.ReasonFull, Limit: 1, Usage: 1}},
		} {
			var limited *resilience.LimitedError
			if !errors.As(c.err, &limited) || *limited != c.want || c.err.Error() != "resilience: "+c.text {
				t.Errorf("got  %v (%+v)\nwant resilience: %s", c.err, limited, c.text)
			}
		}
	})
}

// LIM-05: also of one that waited for its turn when the rate was lowered.
func TestALimitersRefusalOfWhoWaitedTellsThePresentRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quota := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "quota", Rate: 1, Burst: 1, MaxWait: 2 * time.Second, Bus: events.Off()})
		_ = quota.Run(t.Context(), succeed)
		waited := make(chan error, 1)
		go func() { waited <- quota.Run(t.Context(), succeed) }()
		synctest.Wait()
		_ = quota.SetRate(1, time.Hour, 1)
		var limited *resilience.LimitedError
		if err := <-waited; !errors.As(err, &limited) || limited.Type != events.TypeRateLimiter || limited.Limit != 1 || limited.Per != time.Hour {
			t.Errorf("got %+v", err)
		}
	})
}

// BRK-05: a breaker that slow calls opened says so, since there may be no failure to tell of.
func TestABreakersRefusalTellsThatCallsWereSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := func(b *resilience.Breaker) *resilience.BreakerOpenError {
			t.Helper()
			var open *resilience.BreakerOpenError
			if err := b.Run(t.Context(), succeed); !errors.As(err, &open) {
				t.Fatalf("got %v", err)
			}
			return open
		}
		b := breaker(resilience.BreakerConfig{SlowCall: time.Second, MinCalls: 3, Cooldown: time.Minute, FailureRatio: 1})
		takes(t, b, 0, 2*time.Second, 2*time.Second)
		open := refused(b)
		if want := "resilience: circuit breaker db is open, retry after 1m0s (66.7% of the calls took longer than 1s)"; open.Error() != want ||
			open.SlowRatio != 2.0/3 || open.SlowCall != time.Second {
			t.Errorf("got  %v\nwant %s", open, want)
		}
		time.Sleep(time.Minute)
		takes(t, b, 2*time.Second)
		if open := refused(b); open.SlowRatio != 1 || open.SlowCall != time.Second {
			t.Errorf("after a slow probe: %v", open)
		}
		time.Sleep(time.Minute)
		_ = b.Run(t.Context(), fail)
		if open := refused(b); open.SlowRatio != 0 || open.SlowCall != 0 || open.LastFailure != errBoom {
			t.Errorf("after a quick probe that failed: %v", open)
		}
		b.ForceOpen()
		if open := refused(b); open.SlowRatio != 0 {
			t.Errorf("opened by hand: %v", open)
		}
		b.Reset()
		for range 3 {
			_ = b.Run(t.Context(), fail)
		}
		if open := refused(b); open.SlowRatio != 0 {
			t.Errorf("opened by failures: %v", open)
		}
	})
}

// BRK-12
func TestABreakersStringTellsThatItIsAShadow(t *testing.T) {
	for want, b := range map[string]*resilience.Breaker{
		"circuit breaker db (closed, shadow)": breaker(resilience.BreakerConfig{Shadow: true}),
		"circuit breaker db (closed)":         breaker(resilience.BreakerConfig{}),
	} {
		if got := b.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
