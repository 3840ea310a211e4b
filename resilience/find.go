package resilience

import "slices"

// find returns the first error in err's tree, in pre-order, that is an E. It is errors.As without its allocation, for
// what every failed attempt is asked; As methods are not heard.
func find[E any](err error) (E, bool) {
	for err != nil {
		if e, ok := err.(E); ok {
			return e, true
		}
		switch w := err.(type) {
		case *unmarked:
			for _, above := range w.above {
				if e, ok := above.(E); ok {
					return e, true
				}
			}
			return findIn[E](w.below)
		case interface{ Unwrap() error }:
			err = w.Unwrap()
		case interface{ Unwrap() []error }:
			return findIn[E](w.Unwrap())
		default:
			err = nil
		}
	}
	var none E
	return none, false
}

func findIn[E any](all []error) (E, bool) {
	for _, err := range all {
		if e, ok := find[E](err); ok {
			return e, true
		}
	}
	var none E
	return none, false
}

// didNotReturn tells whether the failure stands for a panic or a Goexit of the operation, whoever recovered it.
func didNotReturn(failure error) bool {
	_, panicked := find[*PanicError](failure)
	return panicked || anyIn(failure, func(err error) bool { return err == ErrGoexit })
}

// anyIn tells whether any error in err's tree is what is asked for.
func anyIn(err error, is func(error) bool) bool {
	for err != nil && !is(err) {
		switch w := err.(type) {
		case interface{ Unwrap() error }:
			err = w.Unwrap()
		case interface{ Unwrap() []error }:
			return slices.ContainsFunc(w.Unwrap(), func(inner error) bool { return anyIn(inner, is) })
		default:
			return false
		}
	}
	return err != nil
}
