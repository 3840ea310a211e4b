package resilience

// find returns the first error in err's tree, in pre-order, that is an E. It is errors.As without its allocation, for
// what every failed attempt is asked; As methods are not heard.
func find[E any](err error) (E, bool) {
	for err != nil {
		if e, ok := err.(E); ok {
			return e, true
		}
		switch w := err.(type) {
		case *unmarked:
			err = w.err
		case interface{ Unwrap() error }:
			err = w.Unwrap()
		case interface{ Unwrap() []error }:
			for _, inner := range w.Unwrap() {
				if e, ok := find[E](inner); ok {
					return e, true
				}
			}
			err = nil
		default:
			err = nil
		}
	}
	var none E
	return none, false
}
