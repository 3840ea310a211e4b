package resilience

import (
	"errors"
	"reflect"
)

// NoFailure, returned by PipelineConfig.Classify, says that the operation's error is no failure: the layers and
// telemetry see a success. The caller gets the error.
//
//lint:ignore ST1012 it is a judgement, no error that anybody gets
var NoFailure = errors.New("resilience: no failure")

// verdict carries Classify's judgement, where it differs from the operation's error, through the layers: they see seen, the
// caller gets given. It is made innermost and taken off when the pipeline returns.
type verdict struct {
	seen  error // what the layers see; nil: a success, although the operation returned given
	given error // what the operation returned; nil: a failing value
	zero  bool  // the failing value is the zero value
}

func newVerdict[T any](v T, seen, given error) *verdict {
	return &verdict{seen: seen, given: given, zero: isZero(v)}
}

func (v *verdict) Error() string {
	if v.seen == nil {
		return v.given.Error()
	}
	return v.seen.Error()
}

// Unwrap returns what the layers see and what the operation returned, as far as there is any: a layer of the user's that
// wraps a verdict keeps both.
func (v *verdict) Unwrap() []error {
	var all []error
	for _, err := range []error{v.seen, v.given} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// seen returns the failure as the layers see it (nil: none), and whether it is a value's.
func seen(err error) (failure error, failingValue bool) {
	if v, ok := err.(*verdict); ok {
		return v.seen, v.given == nil
	}
	return err, false
}

// given returns the failure as the caller may find it in another error: what the operation returned, for a failing value
// what Classify said of it.
func given(err error) error {
	if v, ok := err.(*verdict); ok {
		if v.given != nil {
			return v.given
		}
		return v.seen
	}
	return err
}

// delivers tells whether the caller gets a value: err is nil, or the mark of a failing value.
func delivers(err error) bool {
	if v, ok := err.(*verdict); ok {
		return v.given == nil
	}
	return err == nil
}

// asError returns the failure as an error like any other, for a failing value that does not come along.
func asError(err error) error {
	if failure, failingValue := seen(err); failingValue {
		return failure
	}
	return err
}

func isZero[T any](v T) bool { return reflect.ValueOf(&v).Elem().IsZero() }
