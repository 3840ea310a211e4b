package main

import (
	"connectrpc.com/connect"

	"github.com/telltale-go/telltale/resilience"
)

// kindOf is resilience.KindOf for what a Connect client returns. Connect makes an error of its own out of a status and of
// a context's end, and its code says what it means; a refusal of our layers is found in it as it is.
func kindOf(err error) resilience.Kind {
	if err == nil {
		return resilience.KindOK
	}
	if kind := resilience.KindOf(err); kind != resilience.KindUnhandled {
		return kind
	}
	switch connect.CodeOf(err) {
	case connect.CodeCanceled:
		return resilience.KindCanceled
	case connect.CodeResourceExhausted:
		return resilience.KindLimited
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded:
		return resilience.KindUnavailable
	}
	return resilience.KindUnhandled
}
