// Package stop marks errors after which no further attempt is made.
package stop

import "github.com/telltale-go/telltale/events"

// Error is an error that ends every enclosing retry. Its text is that of the error it marks.
type Error struct {
	Err    error
	Reason events.Reason
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }
