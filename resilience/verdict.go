package resilience

import "errors"

// verdict carries Classify's judgement, where it differs from the operation's error, through the layers: they see seen, the
// caller gets given. It is made innermost and taken off when the pipeline returns.
type verdict struct {
	seen  error // what the layers see; nil: a success, although the operation returned given
	given error // what the operation returned; nil: a failing value
}

func (v *verdict) Error() string {
	if v.seen == nil {
		return v.given.Error()
	}
	return v.seen.Error()
}

func (v *verdict) Unwrap() error {
	if v.seen == nil {
		return v.given
	}
	return v.seen
}

// seen returns the failure as the layers see it (nil: none), and whether it is a value's.
func seen(err error) (failure error, failingValue bool) {
	if v, ok := err.(*verdict); ok {
		return v.seen, v.given == nil
	}
	return err, false
}

// withoutVerdict returns err as the caller may see it, when it is not a verdict itself: a layer of the user's may have wrapped one.
func withoutVerdict(err error) error {
	if _, wrapped := find[*verdict](err); wrapped {
		return &unmarked{err}
	}
	return err
}

// unmarked is an error whose tree has a verdict somewhere: it speaks and compares as that tree does, and does not show it.
type unmarked struct{ err error }

func (u *unmarked) Error() string        { return u.err.Error() }
func (u *unmarked) Is(target error) bool { return errors.Is(u.err, target) }
func (u *unmarked) As(target any) bool {
	if _, own := target.(**verdict); own {
		return false
	}
	return errors.As(u.err, target)
}
