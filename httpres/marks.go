package httpres

import "github.com/telltale-go/telltale/internal/unmark"

// withoutMarks returns an error of the pipeline as the caller should get it.
func withoutMarks(err error) error {
	return unmark.Error(err, func(err error) (error, bool) {
		if e, ok := err.(*lostError); ok {
			return e.err, true
		}
		return nil, false
	})
}
