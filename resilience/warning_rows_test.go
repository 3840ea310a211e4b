package resilience_test

import (
	"context"
	"runtime"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

type layers = []resilience.Layer

// warned is a row: a pipeline that has a warning, and the nearest one that has not.
type warned struct {
	code   string
	at     []int // the positions of the layers that it is about
	says   string
	odd    func(bus *events.Bus) layers
	normal func(bus *events.Bus) layers
}

func timeout(d time.Duration) resilience.Timeout { return resilience.Timeout{After: d} }

func cooling(bus *events.Bus, cooldown time.Duration) *resilience.Breaker {
	return resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Cooldown: cooldown, Bus: bus})
}

func emptyRoom(bus *events.Bus) *resilience.Bulkhead {
	return resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", Bus: bus})
}

func adaptive(bus *events.Bus) *resilience.AdaptiveLimiter {
	return resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "load", Bus: bus})
}

// onlySlow is a breaker that failures never open.
func onlySlow(bus *events.Bus) *resilience.Breaker {
	return resilience.MustBreaker(resilience.BreakerConfig{Name: "db", SlowCall: time.Second, Bus: bus})
}

// hidingAll is for a pointer to a fallback.
var hidingAll = resilience.FallbackValue(1)

// selective answers for some failures only.
func selective(f resilience.Fallback[int]) resilience.Fallback[int] {
	f.If = resilience.IsTransient
	return f
}

// these makes a row's function of layers that need no bus.
func these(all ...resilience.Layer) func(*events.Bus) layers {
	return func(*events.Bus) layers { return all }
}

// waiting is a retry whose longest first delay is d.
func waiting(d time.Duration) resilience.Retry {
	return resilience.Retry{Backoff: resilience.Constant(d), MaxDelay: time.Hour}
}

var warnedRows = []warned{
	{code: events.WarningTimeoutOrder, at: []int{0, 2}, says: "2s is not shorter than 2s",
		odd:    these(timeout(2*time.Second), resilience.Retry{MaxAttempts: 1}, timeout(2*time.Second)),
		normal: these(timeout(2*time.Second), resilience.Retry{MaxAttempts: 1}, timeout(2*time.Second-1))},
	{code: events.WarningTimeoutOrder, at: []int{1, 3}, // it is the shortest outside that counts
		odd:    these(timeout(9*time.Second), timeout(2*time.Second), resilience.Retry{}, timeout(3*time.Second)),
		normal: these(timeout(9*time.Second), timeout(-1), resilience.Retry{}, timeout(3*time.Second))},
	{code: events.WarningTimeoutOrder, at: []int{0, 2}, says: "10s is not", // the defaults count
		odd:    these(timeout(10*time.Second), resilience.Retry{}, timeout(0)),
		normal: these(timeout(11*time.Second), resilience.Retry{}, timeout(0))},
	{code: events.WarningTimeoutTwice, at: []int{0, 2},
		odd: func(bus *events.Bus) layers {
			return layers{timeout(2 * time.Second), cooling(bus, 0), timeout(time.Second)}
		},
		normal: func(bus *events.Bus) layers {
			return layers{timeout(5 * time.Second), resilience.Retry{}, timeout(time.Second)}
		}},
	{code: events.WarningTimeoutTwice, at: []int{0, 1},
		odd:    these(timeout(2*time.Second), timeout(time.Second)),
		normal: these(timeout(2*time.Second), resilience.Around("mine", pass), timeout(time.Second))}, // it may repeat
	{code: events.WarningTimeoutTwice, at: []int{0, 2},
		odd:    these(timeout(2*time.Second), resilience.Retry{MaxAttempts: 1}, timeout(time.Second)),
		normal: these(timeout(2*time.Second), resilience.Retry{MaxAttempts: 2}, timeout(time.Second))},
	{code: events.WarningTimeoutTwice, at: []int{0, 2},
		odd:    these(timeout(2*time.Second), resilience.Hedge{MaxAttempts: 1}, timeout(time.Second)),
		normal: these(timeout(2*time.Second), resilience.Hedge{}, timeout(time.Second))},
	{code: events.WarningTotalTooShort, at: []int{0, 1, 2}, says: "1s + a delay of up to 500ms is not less than 1.5s",
		odd:    these(timeout(1500*time.Millisecond), waiting(500*time.Millisecond), timeout(time.Second)),
		normal: these(timeout(1500*time.Millisecond), waiting(500*time.Millisecond-1), timeout(time.Second))},
	{code: events.WarningTotalTooShort, at: []int{0, 1, 2}, says: "up to 375ms", // the jitter counts at its longest
		odd:    these(timeout(1375*time.Millisecond), resilience.Retry{}, timeout(time.Second)),
		normal: these(timeout(1376*time.Millisecond), resilience.Retry{}, timeout(time.Second))},
	{code: events.WarningTotalTooShort, at: []int{0, 1, 2},
		odd:    these(timeout(2*time.Second), resilience.Retry{Backoff: resilience.Constant(time.Hour)}, timeout(time.Second)), // MaxDelay caps it to 30s
		normal: these(timeout(32*time.Second), resilience.Retry{Backoff: resilience.Constant(time.Hour)}, timeout(time.Second))},
	{code: events.WarningCooldownTooLong, at: []int{0, 1}, says: "for 20s at most, and layer 1 (db) stays open for 20.000000001s",
		odd: func(bus *events.Bus) layers {
			return layers{resilience.Retry{RetryRejections: true, MaxDelay: 10 * time.Second}, cooling(bus, 20*time.Second+1), timeout(0)}
		},
		normal: func(bus *events.Bus) layers {
			return layers{resilience.Retry{RetryRejections: true, MaxDelay: 10 * time.Second}, cooling(bus, 20*time.Second), timeout(0)}
		}},
	{code: events.WarningCooldownTooLong, at: []int{0, 1}, // who stops on a long hint waits once
		odd: func(bus *events.Bus) layers {
			return layers{resilience.Retry{RetryRejections: true, MaxAttempts: resilience.Unlimited, StopOnLongHint: true}, cooling(bus, 31*time.Second), timeout(0)}
		},
		normal: func(bus *events.Bus) layers {
			return layers{resilience.Retry{RetryRejections: true, MaxAttempts: resilience.Unlimited}, cooling(bus, 31*time.Second), timeout(0)}
		}},
	{code: events.WarningCooldownTooLong, at: []int{1, 2}, // the total ends the retry
		odd: func(bus *events.Bus) layers {
			return layers{timeout(5 * time.Second), resilience.Retry{RetryRejections: true}, cooling(bus, 6*time.Second)}
		},
		normal: func(bus *events.Bus) layers {
			return layers{timeout(5 * time.Second), resilience.Retry{}, cooling(bus, 6*time.Second)}
		}},
	{code: events.WarningNestedRetry, at: []int{0, 1}, says: "(unlimited x 3)",
		odd:    these(resilience.Retry{MaxAttempts: resilience.Unlimited}, resilience.Retry{}),
		normal: these(resilience.Retry{}, resilience.Retry{MaxAttempts: 1})},
	{code: events.WarningBulkheadInRetry, at: []int{0, 1},
		odd:    func(bus *events.Bus) layers { return layers{&resilience.Retry{}, emptyRoom(bus)} },
		normal: func(bus *events.Bus) layers { return layers{emptyRoom(bus), &resilience.Retry{}} }},
	{code: events.WarningBulkheadInRetry, at: []int{0, 1},
		odd: func(bus *events.Bus) layers { return layers{resilience.Retry{}, emptyRoom(bus)} },
		normal: func(bus *events.Bus) layers { // there it is right: each attempt spends quota
			return layers{resilience.Retry{}, resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "quota", Rate: 1, Bus: bus})}
		}},
	{code: events.WarningFailuresHidden, at: []int{0, 1}, says: "layer 0 (retry) never sees a failure",
		odd:    these(resilience.Retry{}, resilience.FallbackValue(1), timeout(0)),
		normal: these(resilience.FallbackValue(1), resilience.Retry{}, timeout(0))},
	{code: events.WarningFailuresHidden, at: []int{1, 3}, // whatever stands between, if it makes no failures
		odd: func(bus *events.Bus) layers {
			return layers{timeout(0), cooling(bus, 0), emptyRoom(bus), resilience.FallbackValue(1)}
		},
		normal: func(bus *events.Bus) layers {
			return layers{timeout(0), onlySlow(bus), emptyRoom(bus), resilience.FallbackValue(1)}
		}},
	{code: events.WarningFailuresHidden, at: []int{0, 1}, // the retry repeats what it declines
		odd:    these(resilience.Retry{}, resilience.FallbackValue(1)),
		normal: these(resilience.Retry{}, selective(resilience.FallbackValue(1)))},
	{code: events.WarningFailuresHidden, at: []int{0, 1}, // the retry repeats where both fail
		odd:    these(resilience.Retry{}, &hidingAll),
		normal: these(resilience.Retry{}, resilience.FallbackTo(func(_ context.Context, v int, _ error) (int, error) { return v, nil }))},
	{code: events.WarningFailuresHidden, at: []int{0, 2},
		odd:    these(resilience.Retry{}, timeout(time.Second), resilience.FallbackValue(1)),
		normal: these(resilience.Retry{}, resilience.Timeout{Abandon: true}, resilience.FallbackValue(1))},
	{code: events.WarningFailuresHidden, at: []int{0, 1},
		odd:    these(resilience.Retry{}, resilience.FallbackValue(1)),
		normal: these(resilience.Retry{}, resilience.Around("strict", pass), resilience.FallbackValue(1))},
	{code: events.WarningAdaptiveOutsideRetry, at: []int{0, 2}, says: "takes what layer 2 (retry) waits",
		odd:    func(bus *events.Bus) layers { return layers{adaptive(bus), timeout(0), resilience.Retry{}} },
		normal: func(bus *events.Bus) layers { return layers{timeout(0), resilience.Retry{}, adaptive(bus)} }},
	{code: events.WarningAdaptiveOutsideRetry, at: []int{0, 1}, // one for each key is one
		odd: func(bus *events.Bus) layers {
			return layers{resilience.MustKeyed(resilience.KeyedConfig{Name: "hosts", Bus: bus, New: func(string) (resilience.Gate, error) {
				return adaptive(events.Off()), nil
			}}), resilience.Retry{}}
		},
		normal: func(bus *events.Bus) layers { return layers{adaptive(bus), resilience.Retry{MaxAttempts: 1}} }},
	{code: events.WarningRejectionsNotRetried, at: []int{0, 1}, says: "rejects outside of layer 1 (retry)",
		odd: func(bus *events.Bus) layers {
			return layers{cooling(bus, 0), resilience.Retry{RetryRejections: true}, timeout(0)}
		},
		normal: func(bus *events.Bus) layers { return layers{cooling(bus, 0), resilience.Retry{}, timeout(0)} }},
	{code: events.WarningRejectionsNotRetried, at: []int{0, 1},
		odd: func(bus *events.Bus) layers {
			return layers{cooling(bus, 0), resilience.Retry{RetryRejections: true}, timeout(0)}
		},
		normal: func(bus *events.Bus) layers { // inside, too
			inner := resilience.MustBreaker(resilience.BreakerConfig{Name: "inner", Bus: bus})
			return layers{cooling(bus, 0), resilience.Retry{RetryRejections: true}, inner, timeout(0)}
		}},
	{code: events.WarningRejectionsNotRetried, at: []int{0, 2}, says: "only layer 2 (room) inside it",
		odd: func(bus *events.Bus) layers {
			return layers{resilience.Retry{RetryRejections: true}, timeout(0), emptyRoom(bus)}
		},
		normal: func(bus *events.Bus) layers {
			return layers{emptyRoom(bus), resilience.Retry{RetryRejections: true}, timeout(0)}
		}},
	{code: events.WarningRejectionsNotRetried, at: []int{0, 1},
		odd: func(bus *events.Bus) layers { return layers{resilience.Retry{RetryRejections: true}, adaptive(bus)} },
		normal: func(bus *events.Bus) layers { // a gate of the user's may be a breaker
			return layers{resilience.Retry{RetryRejections: true}, adaptive(bus), &counting{name: "mine"}}
		}},
	{code: events.WarningSameName, at: []int{0, 2}, says: `layer 0 (db_0), layer 2 (db_2) were all given the name "db"`,
		odd: func(bus *events.Bus) layers {
			return layers{resilience.MustBulkhead(resilience.BulkheadConfig{Name: "db", Bus: bus}), timeout(0), cooling(bus, 0)}
		},
		normal: func(bus *events.Bus) layers { return layers{emptyRoom(bus), timeout(0), cooling(bus, 0)} }},
	{code: events.WarningSameName, at: []int{0, 1, 2}, says: `"50%"`,
		odd:    these(resilience.Timeout{Name: "50%"}, resilience.Retry{Name: "50%"}, resilience.Timeout{Name: "50%"}),
		normal: these(timeout(2*time.Second), resilience.Retry{}, timeout(time.Second))}, // nobody named these
	{code: events.WarningHangUnnoticed, at: []int{1},
		odd:    func(bus *events.Bus) layers { return layers{resilience.Retry{}, cooling(bus, 0), timeout(-1)} },
		normal: func(bus *events.Bus) layers { return layers{resilience.Retry{}, cooling(bus, 0), timeout(0)} }},
	{code: events.WarningHangUnnoticed, at: []int{0},
		odd:    func(bus *events.Bus) layers { return layers{cooling(bus, 0)} },
		normal: func(bus *events.Bus) layers { return layers{timeout(0), cooling(bus, 0)} }},
	{code: events.WarningHangUnnoticed, at: []int{0},
		odd:    func(bus *events.Bus) layers { return layers{cooling(bus, 0)} },
		normal: func(bus *events.Bus) layers { return layers{slowCallOn(bus)} }},
	{code: events.WarningOtherBus, at: []int{1},
		odd:    func(bus *events.Bus) layers { return layers{timeout(0), cooling(events.NewBus(), 0)} },
		normal: func(bus *events.Bus) layers { return layers{timeout(0), cooling(bus, 0)} }},
	{code: events.WarningOtherBus, at: []int{0},
		odd:    func(bus *events.Bus) layers { return layers{emptyRoom(events.NewBus())} },
		normal: func(bus *events.Bus) layers { return layers{emptyRoom(bus)} }},
	{code: events.WarningDuplicateName, at: []int{0}, // of shared state
		odd:    func(bus *events.Bus) layers { emptyRoom(bus); return layers{emptyRoom(bus)} },
		normal: func(bus *events.Bus) layers { emptyRoom(events.NewBus()); return layers{emptyRoom(bus)} }},
	{code: events.WarningManySources, at: []int{0},
		odd:    func(bus *events.Bus) layers { return layers{many(bus, 101)} },
		normal: func(bus *events.Bus) layers { return layers{many(bus, 100)} }},
}

// many makes n bulkheads of one name and returns the last.
func many(bus *events.Bus, n int) (last resilience.Layer) {
	all := make([]resilience.Layer, n)
	for i := range all {
		all[i] = emptyRoom(bus)
	}
	runtime.KeepAlive(all) // until the last is made
	return all[n-1]
}

func pass(ctx context.Context, next func(context.Context) error) error { return next(ctx) }
