package httpres

import (
	"io"
	"net/http"
	"time"
)

// drainTime is how long a response that is thrown away is read at most: about what a new connection costs.
const drainTime = 50 * time.Millisecond

// discard throws a response away, so that its connection can be used again if the rest of it comes soon. Only an error of
// Close is one: what is cut short costs the connection, no more.
func (cfg Config) discard(resp *http.Response) error {
	if resp == nil || resp.Body == nil {
		return nil
	}
	if limit := cfg.DrainLimit; limit > 0 && resp.ContentLength <= limit {
		late := time.AfterFunc(drainTime, func() { resp.Body.Close() })
		defer late.Stop()
		io.Copy(io.Discard, io.LimitReader(resp.Body, max(limit, limit+1))) // one more: the end comes after the last byte
	}
	return resp.Body.Close()
}
