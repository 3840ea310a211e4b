package httpres

import "net/http"

// IsIdempotent tells whether a request may be sent more than once: its method is GET, HEAD, OPTIONS, TRACE, PUT or
// DELETE, or it has an Idempotency-Key header. As with net/http, a key that is an empty slice says so, and is not sent.
func IsIdempotent(req *http.Request) bool {
	if req == nil {
		return false
	}
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	key, ok := req.Header["Idempotency-Key"]
	return ok && (len(key) == 0 || key[0] != "")
}
