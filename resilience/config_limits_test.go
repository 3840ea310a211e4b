package resilience_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// PIPE-09: the largest values are fine; nothing overflows.
func TestTheLargestValuesAreAccepted(t *testing.T) {
	const large = time.Duration(math.MaxInt64)
	const years = 10 * 365 * 24 * time.Hour
	layers := []resilience.Layer{
		resilience.Retry{MaxAttempts: math.MaxInt32, MaxDelay: large, Backoff: resilience.Exponential{Base: large, Factor: math.MaxFloat64}},
		resilience.Timeout{After: large},
		resilience.MustBreaker(resilience.BreakerConfig{Name: "b", FailureRatio: 1, MinCalls: math.MaxInt32, Window: large, Cooldown: large,
			Probes: math.MaxInt32, ProbeSuccesses: math.MaxInt32, MaxProbeTime: large, Bus: events.Off()}),
		resilience.MustBulkhead(resilience.BulkheadConfig{Name: "h", MaxConcurrent: math.MaxInt, MaxQueue: math.MaxInt, MaxWait: large, Bus: events.Off()}),
		resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "l", Rate: int(years), Per: years, Burst: int(years), MaxWait: large, Bus: events.Off()}),
		resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "m", Rate: 1, Per: years, Burst: 1, MaxWait: large, Bus: events.Off()}),
		resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "n", Rate: int(years)/2 + 1, Per: years, MaxWait: large, Bus: events.Off()}),
	}
	if err := ints(events.Off(), layers...).Run(t.Context(), succeed); err != nil {
		t.Error(err)
	}
}

func TestMustPanicsWithWhatNewReturns(t *testing.T) {
	var fields []string
	for _, must := range []func(){
		func() { resilience.MustBreaker(resilience.BreakerConfig{Name: "b", Probes: -1}) },
		func() { resilience.MustBulkhead(resilience.BulkheadConfig{Name: "b", MaxQueue: -1}) },
		func() { resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "b"}) },
		func() { resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", JudgeOnReturn: true}) },
	} {
		func() {
			defer func() {
				var e *resilience.ConfigError
				if err, ok := recover().(error); ok && errors.As(err, &e) {
					fields = append(fields, e.Field)
				}
			}()
			must()
		}()
	}
	if want := []string{"Probes", "MaxQueue", "Rate", "JudgeOnReturn"}; !slices.Equal(fields, want) {
		t.Errorf("panics about %v, want %v", fields, want)
	}
}
