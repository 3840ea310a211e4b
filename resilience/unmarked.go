package resilience

import (
	"errors"
	"reflect"
)

// unmarked is an error without the pipeline's marks: the verdicts that a layer of the user's wrapped, and the
// CanceledErrors of other pipelines and layers, whose context was not the caller's. It speaks and compares as the whole
// tree, and shows the tree without them.
type unmarked struct {
	err   error
	above []error // the errors that wrap marks, in pre-order
	below []error // the trees without marks
}

// withoutMarks returns err as the caller may see it: err itself if there is nothing to hide.
func withoutMarks(err error) error {
	if _, plain := err.(*BreakerOpenError); plain { // it wraps nothing; refusing is to be quick
		return err
	}
	if !marked(err) {
		return err
	}
	u := &unmarked{err: err}
	u.add(err)
	return u
}

func (u *unmarked) add(err error) {
	switch {
	case err == nil:
		return
	case !marked(err):
		u.below = append(u.below, err)
		return
	case !isMark(err):
		u.above = append(u.above, err)
	}
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		u.add(w.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range w.Unwrap() {
			u.add(inner)
		}
	}
}

// marked tells whether there is a mark in err's tree.
func marked(err error) bool { return anyIn(err, isMark) }

func isMark(err error) bool {
	switch err.(type) {
	case *verdict, *CanceledError:
		return true
	}
	return false
}

func (u *unmarked) Error() string        { return u.err.Error() }
func (u *unmarked) Is(target error) bool { return errors.Is(u.err, target) }
func (u *unmarked) Unwrap() []error      { return u.below }

// As finds the errors that wrap marks; errors.As itself goes on with what Unwrap returns.
func (u *unmarked) As(target any) bool {
	dst := reflect.ValueOf(target).Elem()
	for _, err := range u.above {
		if reflect.TypeOf(err).AssignableTo(dst.Type()) {
			dst.Set(reflect.ValueOf(err))
			return true
		}
		if as, ok := err.(interface{ As(any) bool }); ok && as.As(target) {
			return true
		}
	}
	return false
}
