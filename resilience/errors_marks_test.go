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

// tree lists err and everything that it wraps.
func tree(err error) []error {
	all := []error{err}
	switch w := err.(type) {
	case nil:
		return nil
	case interface{ Unwrap() error }:
		return append(all, tree(w.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, inner := range w.Unwrap() {
			all = append(all, tree(inner)...)
		}
	}
	return all
}

// clean checks that no mark of a pipeline is in err's tree.
func clean(t *testing.T, what string, err error) {
	t.Helper()
	for _, e := range tree(err) {
		if strings.HasSuffix(fmt.Sprintf("%T", e), ".verdict") {
			t.Errorf("%s: the mark is in what the caller gets: %#v", what, err)
		}
	}
}

// wrapping is an error type of the user's, of a layer.
type wrapping struct{ inner error }

func (w *wrapping) Error() string { return "layer: " + w.inner.Error() }
func (w *wrapping) Unwrap() error { return w.inner }

var (
	errOwn   = errors.New("the layer's own")
	errRaw   = errors.New("as the operation returned it")
	errGone  = errors.New("a success by another name")
	errRead  = errors.New("as Classify reads it")
	wrappers = map[string]func(error) error{
		"%w":           func(err error) error { return fmt.Errorf("layer: %w", err) },
		"an own type":  func(err error) error { return &wrapping{err} },
		"a join":       func(err error) error { return errors.Join(errOwn, err) },
		"a join twice": func(err error) error { return errors.Join(err, &wrapping{fmt.Errorf("%w, %w", errOwn, err)}) },
	}
)

// judge makes 503 a failure, errGone a success, and reads errRaw as errRead.
func judge(r *reply, err error) error {
	switch {
	case err == errRaw:
		return errRead
	case err == errGone:
		return resilience.NoFailure
	case err == nil && r != nil && r.status == 503:
		return errStatus
	}
	return err
}

func judged(bus *events.Bus, layers ...resilience.Layer) *resilience.Pipeline[*reply] {
	return resilience.MustPipeline(resilience.PipelineConfig[*reply]{Name: "judged", Layers: layers, Bus: bus, Classify: judge})
}

func returns[T any](v T, err error) resilience.Operation[T] {
	return func(context.Context) (T, error) { return v, err }
}

// PIPE-28, PIPE-12
func TestNoLayerOfTheUsersLetsTheMarkOut(t *testing.T) {
	for name, wrap := range wrappers {
		layers := map[string]resilience.Layer{
			"around": resilience.Around("w", func(ctx context.Context, next func(context.Context) error) error { return wrap(next(ctx)) }),
			"typed": typed[*reply](func(next resilience.Next[*reply]) resilience.Next[*reply] {
				return func(ctx context.Context, call resilience.Call, op resilience.Operation[*reply]) (*reply, error) {
					v, err := next(ctx, call, op)
					return v, wrap(err)
				}
			}),
		}
		for kind, layer := range layers {
			for _, op := range []struct {
				status int
				err    error
				finds  []error
			}{{503, nil, []error{errStatus}}, {0, errRaw, []error{errRaw, errRead}}, {0, errGone, []error{errGone}}} {
				what := fmt.Sprintf("%s by %s of %d, %v", kind, name, op.status, op.err)
				for _, outside := range []resilience.Layer{quietBreaker("db"), resilience.Timeout{}, resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}} {
					_, err := judged(events.Off(), outside, layer).Do(t.Context(), returns(&reply{status: op.status}, op.err))
					clean(t, what, err)
					for _, want := range op.finds {
						if !errors.Is(err, want) {
							t.Errorf("%s: %v is not found in %v", what, want, err)
						}
					}
					if !strings.Contains(err.Error(), "layer") {
						t.Errorf("%s: the layer's text is lost: %v", what, err)
					}
					var own *wrapping
					if strings.Contains(name, "own") && (!errors.As(err, &own) || own.inner == nil) {
						t.Errorf("%s: the layer's error type is lost: %v", what, err)
					}
				}
			}
		}
	}
}

// PIPE-28: the value is the caller's only if the layer hands it on.
func TestAFailingValueThatALayerDropsIsAnError(t *testing.T) {
	drop := typed[*reply](func(next resilience.Next[*reply]) resilience.Next[*reply] {
		return func(ctx context.Context, call resilience.Call, op resilience.Operation[*reply]) (*reply, error) {
			if _, err := next(ctx, call, op); err != nil {
				return nil, err
			}
			return nil, nil
		}
	})
	v, err := judged(events.Off(), drop).Do(t.Context(), returns(&reply{status: 503}, nil))
	if v != nil || err != errStatus {
		t.Errorf("got %v, %v; want what Classify said", v, err)
	}
	nothing := resilience.MustPipeline(resilience.PipelineConfig[*reply]{Name: "p", Bus: events.Off(), Layers: []resilience.Layer{drop},
		Classify: func(r *reply, err error) error { return errStatus }})
	if v, err := nothing.Do(t.Context(), returns[*reply](nil, nil)); v != nil || err != nil {
		t.Errorf("got %v, %v; want the failing value nil, and no error", v, err)
	}
}

// PIPE-28
func TestTheMarkStaysInWhenTheCallEndsInABackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := resilience.Retry{Backoff: resilience.Constant(time.Minute), IgnoreDeadline: true}
		for _, op := range []struct {
			status int
			err    error
			finds  error
		}{{503, nil, errStatus}, {0, errRaw, errRaw}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			v, err := judged(events.Off(), slow).Do(ctx, returns(&reply{status: op.status}, op.err))
			clean(t, "cancelled", err)
			var canceled *resilience.CanceledError
			if !errors.As(err, &canceled) || canceled.Last != op.finds || !errors.Is(err, context.DeadlineExceeded) || op.err == nil && v != nil {
				t.Errorf("cancelled: %v, %v; want %v as the last failure", v, err, op.finds)
			}
			cancel()

			v, err = judged(events.Off(), resilience.Timeout{After: time.Second}, slow).Do(t.Context(), returns(&reply{status: op.status}, op.err))
			clean(t, "timed out", err)
			var timeout *resilience.TimeoutError
			if !errors.As(err, &timeout) || timeout.Err != op.finds || op.err == nil && v != nil {
				t.Errorf("timed out: %v, %v; want %v as the operation's error", v, err, op.finds)
			}
		}
	})
}

// PIPE-28
func TestTheMarkStaysInWhenARetryIsRefused(t *testing.T) {
	for _, op := range []struct {
		status int
		err    error
		finds  error
	}{{503, nil, errStatus}, {0, errRaw, errRaw}} {
		db := resilience.MustBreaker(resilience.BreakerConfig{Name: "db", ConsecutiveFailures: 1, Bus: events.Off()})
		_, err := judged(events.Off(), resilience.Retry{Backoff: resilience.NoDelay}, db).Do(t.Context(), returns(&reply{status: op.status}, op.err))
		clean(t, "refused", err)
		if !errors.Is(err, resilience.ErrBreakerOpen) || !errors.Is(err, op.finds) {
			t.Errorf("got %v, want the refusal and %v", err, op.finds)
		}
	}
}

// PIPE-28
func TestAFinalFailingValueIsAFailureThoughTheErrorIsNil(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	bad := &reply{status: 503}
	v, err := judged(bus).Do(t.Context(), returns(bad, nil))
	if v != bad || err != nil {
		t.Errorf("got %v, %v", v, err)
	}
	attempt, call := heard[events.AttemptFinished](tape)[0], heard[events.ExecutionFinished](tape)[0]
	if attempt.Outcome != events.OutcomeFailure || attempt.Err != errStatus || call.Outcome != events.OutcomeFailure || call.Err != errStatus {
		t.Errorf("told %+v and %+v", attempt, call)
	}
}

// PIPE-12, PIPE-28: an error that Classify judges is what the operation returned, once it is the caller's.
func TestClassifyChangesNothingOfWhatTheCallerGets(t *testing.T) {
	bus := events.NewBus()
	tape := record(bus)
	for _, err := range []error{errRaw, errGone, errBoom} {
		if _, got := judged(bus, quietBreaker("db"), resilience.Timeout{}).Do(t.Context(), returns[*reply](nil, err)); got != err {
			t.Errorf("got %v, want %v itself", got, err)
		}
	}
	var told []error
	for _, e := range heard[events.ExecutionFinished](tape) {
		told = append(told, e.Err)
	}
	if !slices.Equal(told, []error{errRead, nil, errBoom}) {
		t.Errorf("telemetry saw %v", told)
	}
}

// PIPE-28: pipelines within pipelines do not wrap an error again and again.
func TestAnErrorPassesThroughNestedPipelinesAsItIs(t *testing.T) {
	inner := judged(events.Off(), resilience.Around("w", func(ctx context.Context, next func(context.Context) error) error {
		return &wrapping{next(ctx)}
	}))
	var first error
	_, err := judged(events.Off()).Do(t.Context(), func(ctx context.Context) (*reply, error) {
		v, err := inner.Do(ctx, returns(&reply{status: 503}, nil))
		first = err
		return v, err
	})
	if err != first {
		t.Errorf("%#v went in, %#v came out", first, err)
	}
	clean(t, "nested", err)
}

// PIPE-28: what a layer says by the methods of its errors is heard through the marks that they wrap.
type outspoken struct{ wrapping }

func (outspoken) Transient() bool           { return true }
func (outspoken) RetryAfter() time.Duration { return time.Minute }

func TestWhatALayersErrorSaysIsHeardThroughTheMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := judged(events.Off(), resilience.Around("w", func(ctx context.Context, next func(context.Context) error) error {
			return &outspoken{wrapping{next(ctx)}}
		}))
		began := time.Now()
		_, err := judged(events.Off(), resilience.Retry{MaxAttempts: 2, MaxDelay: time.Hour}).Do(t.Context(), func(ctx context.Context) (*reply, error) {
			return inner.Do(ctx, returns(&reply{status: 503}, nil))
		})
		if took := time.Since(began); took != time.Minute || resilience.KindOf(err) != resilience.KindUnavailable {
			t.Errorf("%v of kind %v after %v; want the layer's delay and kind", err, resilience.KindOf(err), took)
		}
	})
}

// PIPE-28
func TestTheMarkStaysInWhenTheCallerLeavesOrTheLimitPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		wrap := resilience.Around("w", func(ctx context.Context, next func(context.Context) error) error { return &wrapping{next(ctx)} })
		_, err := judged(events.Off(), wrap).Do(ctx, func(context.Context) (*reply, error) { cancel(); return nil, errRaw })
		clean(t, "cancelled", err)
		if !errors.Is(err, errRaw) || resilience.KindOf(err) != resilience.KindCanceled {
			t.Errorf("got %v", err)
		}
		_, err = judged(events.Off(), resilience.Timeout{After: time.Second}).Do(t.Context(), func(context.Context) (*reply, error) {
			time.Sleep(time.Minute)
			return nil, errRaw
		})
		var timeout *resilience.TimeoutError
		if !errors.As(err, &timeout) || timeout.Err != errRaw {
			t.Errorf("got %v, want what the operation returned in it", err)
		}
	})
}
