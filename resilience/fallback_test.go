package resilience_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// FBK-01
func TestAFallbackAnswersForEveryFailureOfTheDependencyAndForRefusals(t *testing.T) {
	open := quietBreaker("open")
	open.ForceOpen()
	full := roomFor(1)
	lease, err := full.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release(nil)
	synctest.Test(t, func(t *testing.T) {
		for what, p := range map[string]*resilience.Pipeline[int]{
			"an error":        ints(events.Off(), resilience.FallbackValue(7)),
			"an open breaker": ints(events.Off(), resilience.FallbackValue(7), open),
			"a full bulkhead": ints(events.Off(), resilience.FallbackValue(7), full),
			"a timeout":       ints(events.Off(), resilience.FallbackValue(7), resilience.Timeout{After: time.Second}),
			"a spent retry":   ints(events.Off(), &resilience.Fallback[int]{To: answer7}, resilience.Retry{}),
		} {
			v, err := p.Do(t.Context(), func(ctx context.Context) (int, error) {
				if what == "a timeout" {
					<-ctx.Done()
				}
				return 1, errBoom
			})
			if v != 7 || err != nil {
				t.Errorf("%s: %d, %v", what, v, err)
			}
		}
	})
	if v, err := ints(events.Off(), resilience.FallbackValue(7)).Do(t.Context(), one); v != 1 || err != nil {
		t.Errorf("a success: %d, %v", v, err)
	}
	v, err := resilience.Do(t.Context(), returns(1, errBoom), resilience.FallbackTo(answer7))
	if v != 7 || err != nil {
		t.Errorf("one-off: %d, %v", v, err)
	}
}

func answer7(context.Context, int, error) (int, error) { return 7, nil }

// FBK-01, PIPE-15
func TestAFallbackNeverAnswersForTheEndOfTheCallersContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := false
		p := ints(events.Off(), resilience.Fallback[int]{
			To: func(context.Context, int, error) (int, error) { asked = true; return 7, nil },
			If: func(error) bool { asked = true; return true },
		}, resilience.Retry{})
		canceled, cancel := context.WithCancel(t.Context())
		late, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		time.AfterFunc(time.Second, cancel)
		for _, ctx := range []context.Context{canceled, late} {
			_, err := p.Do(ctx, func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, errBoom })
			if asked || resilience.KindOf(err) != resilience.KindCanceled || !errors.Is(err, errBoom) {
				t.Errorf("asked: %t, %v", asked, err)
			}
		}
		// Of another context that ended, somebody still waits for an answer.
		if v, err := p.Do(t.Context(), returns(0, context.Canceled)); v != 7 || err != nil {
			t.Errorf("with a live context: %d, %v", v, err)
		}
	})
}

// FBK-01
func TestAFallbackNeverAnswersForAPanic(t *testing.T) {
	asked := false
	fallback := resilience.FallbackTo(func(context.Context, int, error) (int, error) { asked = true; return 7, nil })
	if got, returned := survive(func() {
		ints(events.Off(), fallback).Do(t.Context(), func(context.Context) (int, error) { panic("op") })
	}); got != "op" || returned || asked {
		t.Errorf("panicked with %v, asked: %t", got, asked)
	}
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.Off(), RecoverPanics: true, Layers: []resilience.Layer{fallback}})
	_, err := p.Do(t.Context(), func(context.Context) (int, error) { panic("op") })
	if _, panicked := errors.AsType[*resilience.PanicError](err); !panicked || asked {
		t.Errorf("%v, asked: %t", err, asked)
	}
	if _, err := ints(events.Off(), fallback).Do(t.Context(), returns(0, resilience.ErrGoexit)); err != resilience.ErrGoexit || asked {
		t.Errorf("%v, asked: %t", err, asked)
	}
}

// FBK-01
func TestTheFallbacksPredicateSelectsAlone(t *testing.T) {
	p := ints(events.Off(), resilience.Fallback[int]{To: answer7, If: func(err error) bool { return errors.Is(err, errBoom) }})
	for err, want := range map[error]int{errBoom: 7, errGone: 1, fmt.Errorf("wrapped: %w", errBoom): 7} {
		if v, got := p.Do(t.Context(), returns(1, err)); v != want || want == 1 && got != err {
			t.Errorf("%v: %d, %v", err, v, got)
		}
	}
}

// FBK-02, PIPE-12, PIPE-28
func TestAFailingFallbacksErrorIsJoinedWithTheFailure(t *testing.T) {
	errCache := errors.New("cache is empty")
	open := quietBreaker("open")
	open.ForceOpen()
	for what, c := range map[string]struct {
		inside   []resilience.Layer
		op       resilience.Operation[int]
		own      func(error) error
		is       []error
		text     string
		classify func(int, error) error
	}{
		"an error": {op: returns(0, errBoom), is: []error{errCache, errBoom},
			text: "resilience: fallback: cache is empty (instead of: boom)"},
		"a refusal":                   {inside: []resilience.Layer{open}, op: one, is: []error{errCache, resilience.ErrBreakerOpen}},
		"a failing value":             {op: returns(-1, nil), is: []error{errCache, errStatus}, text: "resilience: fallback: cache is empty (instead of: status 503)"},
		"an error judged differently": {op: returns(0, errGone), is: []error{errCache, errGone}, text: "resilience: fallback: cache is empty (instead of: a success by another name)"},
		"an own error that wraps the failure": {op: returns(0, errBoom), own: func(err error) error { return fmt.Errorf("%w after %w", errCache, err) },
			is: []error{errCache, errBoom}, text: "cache is empty after boom"},
	} {
		bus := events.NewBus()
		tape := record(bus)
		asked, outside := 0, error(nil)
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus,
			Classify: func(v int, err error) error {
				switch {
				case v < 0:
					return errStatus
				case err == errGone:
					return errStatus
				}
				return err
			},
			Layers: append([]resilience.Layer{
				typed[int](func(next resilience.Next[int]) resilience.Next[int] {
					return func(ctx context.Context, call resilience.Call, op resilience.Operation[int]) (int, error) {
						v, err := next(ctx, call, op)
						outside = err
						return v, err
					}
				}),
				resilience.FallbackTo(func(_ context.Context, _ int, err error) (int, error) {
					asked++
					if c.own != nil {
						return 3, c.own(err)
					}
					return 3, errCache
				}), resilience.Retry{Backoff: resilience.NoDelay}}, c.inside...)})
		v, err := p.Do(t.Context(), c.op)
		if v != 3 || asked != 1 {
			t.Errorf("%s: value %d, asked %d times", what, v, asked)
		}
		for _, is := range c.is {
			if !errors.Is(err, is) {
				t.Errorf("%s: %v is no %v", what, err, is)
			}
		}
		if what == "an error judged differently" && (errors.Is(err, errStatus) || !errors.Is(outside, errStatus)) {
			t.Errorf("%s: the caller has %v, the layer outside %v", what, err, outside)
		}
		if c.text != "" && err.Error() != c.text {
			t.Errorf("%s: text %q", what, err)
		}
		if strings.Contains(fmt.Sprintf("%#v", err), "verdict") {
			t.Errorf("%s: the mark is in %#v", what, err)
		}
		used, done := heard[events.FallbackUsed](tape), heard[events.ExecutionFinished](tape)[0]
		if len(used) != 1 || used[0].Outcome != events.OutcomeFailure || !errors.Is(used[0].Err, errCache) || done.Outcome != events.OutcomeFailure {
			t.Errorf("%s: %+v, %+v", what, used, done)
		}
	}
}

// FBK-02: what stands inside it does not see its error.
func TestAFailingFallbackIsRetriedOnlyByLayersOutside(t *testing.T) {
	asked := 0
	fallback := resilience.FallbackTo(func(context.Context, int, error) (int, error) { asked++; return 0, errGone })
	again := resilience.Retry{Backoff: resilience.NoDelay}
	for _, c := range []struct {
		layers      []resilience.Layer
		runs, asked int
	}{{[]resilience.Layer{fallback, again}, 3, 1}, {[]resilience.Layer{again, fallback}, 3, 3}} {
		asked = 0
		op := &failing{n: -1}
		err := ints(events.Off(), c.layers...).Run(t.Context(), op.run)
		if op.runs != c.runs || asked != c.asked || !errors.Is(err, errGone) || !errors.Is(err, errBoom) {
			t.Errorf("%d runs, asked %d times, %v; want %+v", op.runs, asked, err, c)
		}
	}
}

// FBK-03
func TestAValueThatTheFallbackReplacesIsDiscarded(t *testing.T) {
	other := &stream{}
	for what, c := range map[string]struct {
		to      func(context.Context, *stream, error) (*stream, error)
		want    func(rejected *stream) *stream
		err     error
		dropped bool
	}{
		"another value": {func(context.Context, *stream, error) (*stream, error) { return other, nil },
			func(*stream) *stream { return other }, nil, true},
		"the same value": {func(_ context.Context, s *stream, _ error) (*stream, error) { return s, nil },
			func(s *stream) *stream { return s }, nil, false},
		"an error": {func(context.Context, *stream, error) (*stream, error) { return nil, errBoom },
			func(*stream) *stream { return nil }, errBoom, true},
		"the same value and an error": {func(_ context.Context, s *stream, _ error) (*stream, error) { return s, errBoom },
			func(s *stream) *stream { return s }, errBoom, false},
		"both as they were": {func(_ context.Context, s *stream, err error) (*stream, error) { return s, err },
			func(s *stream) *stream { return s }, nil, false},
		"the failure alone": {func(_ context.Context, _ *stream, err error) (*stream, error) { return nil, err },
			func(*stream) *stream { return nil }, errStatus, true},
		"a panic": {func(context.Context, *stream, error) (*stream, error) { panic("to") },
			func(s *stream) *stream { return s }, nil, false},
	} {
		var rejected *stream
		room := roomFor(1)
		s, err := streams(nil, resilience.FallbackTo(c.to), room).Do(t.Context(), func(ctx context.Context) (*stream, error) {
			rejected = &stream{ctx: ctx, bad: true}
			return rejected, nil
		})
		if s != c.want(rejected) || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || rejected.dropped != c.dropped {
			t.Errorf("%s: got the rejected: %t, %v, dropped: %t", what, s == rejected, err, rejected.dropped)
		}
		if s != nil && s == rejected && err == nil { // PIPE-27: it still holds the room
			if room.Snapshot().Usage != 1 {
				t.Errorf("%s: its room was given away", what)
			}
			s.release(nil)
		}
		if room.Snapshot().Usage != 0 {
			t.Errorf("%s: it still holds the room", what)
		}
	}
}

// FBK-03: values that cannot be compared are never the same.
func TestAValueThatCannotBeComparedIsDiscarded(t *testing.T) {
	discarded := 0
	p := resilience.MustPipeline(resilience.PipelineConfig[[]int]{Name: "p", Bus: events.Off(),
		Classify: func([]int, error) error { return errStatus },
		Discard:  func([]int) error { discarded++; return nil },
		Layers:   []resilience.Layer{resilience.FallbackTo(func(_ context.Context, v []int, _ error) ([]int, error) { return v, nil })}})
	v, err := p.Do(t.Context(), returns([]int{1}, nil))
	if !slices.Equal(v, []int{1}) || err != nil || discarded != 1 {
		t.Errorf("%v, %v, discarded %d times", v, err, discarded)
	}
}

// FBK-03
func TestTheFallbackGetsTheValueAndTheFailure(t *testing.T) {
	for _, c := range []struct {
		op    resilience.Operation[int]
		value int
		err   error
	}{{returns(4, errBoom), 4, errBoom}, {returns(-1, nil), -1, errStatus}} {
		var value int
		var cause error
		p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: events.Off(),
			Classify: func(v int, err error) error {
				if v < 0 {
					return errStatus
				}
				return err
			},
			Layers: []resilience.Layer{resilience.FallbackTo(func(_ context.Context, v int, err error) (int, error) { value, cause = v, err; return 7, nil })}})
		if v, err := p.Do(t.Context(), c.op); v != 7 || err != nil || value != c.value || cause != c.err {
			t.Errorf("%d, %v; the fallback got %d, %v", v, err, value, cause)
		}
	}
}
