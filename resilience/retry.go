package resilience

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/telltale-go/telltale/events"
)

// Unlimited, as Retry.MaxAttempts, retries until the context ends.
const Unlimited = -1

// KeepDelay, returned by Retry.Delay, leaves the delay as it is. So does every negative duration.
const KeepDelay time.Duration = -1

// Retry is a layer that runs what is inside it again when it fails. Its zero value makes three attempts in all with
// exponential backoff and jitter. It keeps nothing between calls.
//
// When no attempt is left, the caller gets what the last one returned, as it was: there is no error of the retry's own,
// and [events.RetryStopped] tells why it stopped. There is no limit of its own on the time either: put a [Timeout] outside.
// The retry stops ahead of that limit if the next delay would reach it, and then, too, the last failure is the error.
//
// A failure does not prove that the operation had no effect: retry what may safely run twice, or see [IsNotProcessed].
type Retry struct {
	// Name tells the layer apart in telemetry; empty means "retry".
	Name string
	// MaxAttempts counts the first call. Zero means 3, 1 means no retry; Unlimited retries until ctx ends.
	MaxAttempts int
	// Backoff is how delays grow. Nil means Exponential: 250 ms, twice as much each time.
	Backoff Backoff
	// Jitter spreads the delays. The zero value means JitterEqual for Exponential and none for every other backoff.
	Jitter Jitter
	// MaxDelay caps every delay: the backoff's after jitter, Delay's, and what a peer asks for. Zero means 30 s.
	MaxDelay time.Duration
	// Delay overrides the delay, which it finds in FailedAttempt.Delay; KeepDelay keeps it. MaxDelay caps the result.
	Delay func(FailedAttempt) time.Duration
	// If decides alone which failures are retried. It is never shown the caller's cancellation, a panic, an error
	// marked with Permanent, or a refusal by a layer of ours. Nil means PipelineConfig.RetryIf, and if that is nil too,
	// every failure.
	If func(error) bool
	// OnRetry is called before each wait, with the final delay. Returning false ends the retry with the last outcome.
	OnRetry func(ctx context.Context, failed FailedAttempt) bool
	// RetryRejections also retries when a circuit breaker further in refuses, after what is left of its cooldown. A
	// turn that is refused counts toward MaxAttempts. Refusals by limiters are never retried. Without a breaker inside the
	// retry, or one that the operation itself goes through, it does nothing.
	RetryRejections bool
	// StopOnLongHint ends the retry when the peer asks for a longer wait than MaxDelay, instead of retrying earlier
	// than it asked.
	StopOnLongHint bool
	// IgnoreDeadline waits even when the context's deadline comes before the next attempt. By default the retry then stops
	// at once with the last outcome.
	IgnoreDeadline bool
	// Budget is the allowance of extra attempts that the retry shares with others: an attempt after the first starts only
	// while it allows one. Nil means no such limit.
	Budget *RetryBudget
	// Rand returns random numbers in [0, 1), for the jitter; it is called concurrently. Nil means math/rand/v2.
	Rand func() float64
}

// FailedAttempt is what the callbacks of a Retry are told about the attempt that failed.
type FailedAttempt struct {
	Number int           // 1-based
	Err    error         // the failure; for a failing value what Classify said of it
	Value  any           // the failing value, nil for an error
	Delay  time.Duration // the wait before the next attempt
}

// LayerInfo implements [Layer].
func (r Retry) LayerInfo() LayerInfo {
	r = r.withDefaults()
	attempts := fmt.Sprint(r.MaxAttempts)
	if r.MaxAttempts == Unlimited {
		attempts = "unlimited"
	}
	settings := []Setting{
		{"max_attempts", attempts},
		{"backoff", describeBackoff(r.Backoff)},
		{"jitter", r.Jitter.String()},
		{"max_delay", r.MaxDelay.String()},
		{"retry_rejections", fmt.Sprint(r.RetryRejections)},
		{"deadline_aware", fmt.Sprint(!r.IgnoreDeadline)},
	}
	if r.StopOnLongHint {
		settings = append(settings, Setting{"stop_on_long_hint", "true"})
	}
	if r.Budget != nil {
		settings = append(settings, Setting{"budget", r.Budget.Name()})
	}
	return LayerInfo{Name: r.Name, Type: events.TypeRetry, Settings: settings}
}

func (r Retry) retryBudget() *RetryBudget { return r.Budget }

func (r Retry) withDefaults() Retry {
	r.MaxAttempts = or(r.MaxAttempts, 3)
	r.Backoff = backoffLiteral(r.Backoff)
	if r.Backoff == nil {
		r.Backoff = Exponential{}
	}
	if r.Jitter == JitterDefault {
		r.Jitter = JitterNone
		if _, ok := r.Backoff.(Exponential); ok {
			r.Jitter = JitterEqual
		}
	}
	r.MaxDelay = or(r.MaxDelay, defaultMaxDelay)
	return r
}

func (r Retry) check() error {
	c := checks{typ: "Retry"}
	c.name("Name", r.Name, false)
	if r.MaxAttempts < Unlimited || r.MaxAttempts > math.MaxInt32 {
		c.refuse("MaxAttempts", r.MaxAttempts, "at least 1 and at most 2147483647, Unlimited, or 0 for the default, 3")
	}
	backoff := backoffLiteral(r.Backoff)
	checkBackoff(&c, backoff)
	if int(r.Jitter) >= len(jitterNames) {
		c.refuse("Jitter", uint8(r.Jitter), "one of the Jitter constants")
	}
	c.notNegative("MaxDelay", r.MaxDelay, defaultMaxDelay)
	if r.Jitter == JitterDecorrelated && backoff == Backoff(NoDelay) {
		c.refuse("Jitter", r.Jitter, "JitterNone with NoDelay: there is nothing to spread")
	}
	c.budget(r.Budget)
	return c.err()
}
