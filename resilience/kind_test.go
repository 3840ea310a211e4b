package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// opinion is an error that says for itself whether it is transient.
type opinion bool

func (o opinion) Error() string   { return fmt.Sprintf("transient: %t", bool(o)) }
func (o opinion) Transient() bool { return bool(o) }

// PIPE-11
func TestKindOfWhatAPipelineReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := quietBreaker("open")
		open.ForceOpen()
		full := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "full", MaxConcurrent: 1, Bus: events.Off()})
		lease, _ := full.Acquire(t.Context())
		defer lease.Release(nil)
		limited := &counting{refuse: resilience.Reject(events.ReasonRate, time.Second)}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		late, cancelLate := context.WithTimeout(t.Context(), 0)
		defer cancelLate()
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		recovering := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", RecoverPanics: true, Bus: events.Off()})
		for what, c := range map[string]struct {
			err    error
			kind   resilience.Kind
			status int
		}{
			"a success":                 {ints(events.Off()).Run(t.Context(), succeed), resilience.KindOK, 200},
			"a caller who left":         {ints(events.Off()).Run(gone, succeed), resilience.KindCanceled, 499},
			"a caller's deadline":       {ints(events.Off()).Run(late, succeed), resilience.KindCanceled, 499},
			"an open breaker":           {ints(events.Off(), open).Run(t.Context(), succeed), resilience.KindUnavailable, 503},
			"a full bulkhead":           {ints(events.Off(), full).Run(t.Context(), succeed), resilience.KindLimited, 429},
			"a limiter of the user's":   {ints(events.Off(), limited).Run(t.Context(), succeed), resilience.KindLimited, 429},
			"a timeout":                 {ints(events.Off(), resilience.Timeout{After: 1}).Run(t.Context(), hang), resilience.KindUnavailable, 503},
			"a dependency's deadline":   {ints(events.Off()).Run(t.Context(), func(context.Context) error { return context.DeadlineExceeded }), resilience.KindUnavailable, 503},
			"a recovered panic":         {recovering.Run(t.Context(), func(context.Context) error { panic(context.DeadlineExceeded) }), resilience.KindUnhandled, 500},
			"anything else":             {ints(events.Off()).Run(t.Context(), fail), resilience.KindUnhandled, 500},
			"who says it is transient":  {ints(events.Off()).Run(t.Context(), func(context.Context) error { return opinion(true) }), resilience.KindUnavailable, 503},
			"who says it is no such":    {ints(events.Off()).Run(t.Context(), func(context.Context) error { return opinion(false) }), resilience.KindUnhandled, 500},
			"what is permanent":         {ints(events.Off()).Run(t.Context(), func(context.Context) error { return resilience.Permanent(context.DeadlineExceeded) }), resilience.KindUnhandled, 500},
			"what asks to come back":    {ints(events.Off()).Run(t.Context(), func(context.Context) error { return resilience.RetryAfter(opinion(true), 1) }), resilience.KindUnavailable, 503},
			"a panic in a wrapped join": {errors.Join(errBoom, fmt.Errorf("w: %w", &resilience.PanicError{Value: context.DeadlineExceeded})), resilience.KindUnhandled, 500},
		} {
			k := resilience.KindOf(c.err)
			transient := c.kind == resilience.KindUnavailable || c.kind == resilience.KindLimited
			if k != c.kind || k.HTTPStatus() != c.status || k.Transient() != transient || resilience.IsTransient(c.err) != transient {
				t.Errorf("%s (%v): %v, %d, transient %t", what, c.err, k, k.HTTPStatus(), k.Transient())
			}
			if wrapped := resilience.KindOf(fmt.Errorf("wrapped: %w", c.err)); c.err != nil && wrapped != c.kind {
				t.Errorf("%s, wrapped: %v", what, wrapped)
			}
		}
	})
}

// PIPE-11: the first error in pre-order that knows decides.
func TestTheFirstErrorThatKnowsDecides(t *testing.T) {
	timeout, limited := &resilience.TimeoutError{Layer: "t"}, &resilience.LimitedError{Layer: "l"}
	for _, c := range []struct {
		err  error
		kind resilience.Kind
	}{
		{errors.Join(errBoom, limited, timeout), resilience.KindLimited},
		{errors.Join(timeout, limited), resilience.KindUnavailable},
		{errors.Join(fmt.Errorf("w: %w", opinion(false)), timeout), resilience.KindUnhandled},
		{&resilience.TimeoutError{Err: opinion(false)}, resilience.KindUnavailable},
		{&resilience.CanceledError{Err: context.Canceled, Last: timeout}, resilience.KindCanceled},
		{errors.Join(nil, fmt.Errorf("%w, %w", errBoom, context.DeadlineExceeded)), resilience.KindUnavailable},
		{errors.Join(context.Canceled, limited), resilience.KindLimited},
	} {
		if k := resilience.KindOf(c.err); k != c.kind {
			t.Errorf("%v: %v, want %v", c.err, k, c.kind)
		}
	}
}

func TestKindsHaveNames(t *testing.T) {
	for k, want := range map[resilience.Kind]string{0: "Kind(0)", resilience.KindOK: "ok", resilience.KindCanceled: "canceled",
		resilience.KindLimited: "limited", resilience.KindUnavailable: "unavailable", resilience.KindUnhandled: "unhandled", 99: "Kind(invalid)"} {
		if k.String() != want {
			t.Errorf("%d: %s, want %s", k, k, want)
		}
	}
	for k, want := range map[resilience.OutcomeKind]string{0: "OutcomeKind(0)", resilience.Succeeded: "succeeded",
		resilience.NotReturned: "not_returned", 99: "OutcomeKind(invalid)"} {
		if k.String() != want {
			t.Errorf("%d: %s, want %s", k, k, want)
		}
	}
}
