package httpres

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/internal/told"
	"github.com/telltale-go/telltale/resilience"
)

// outerClient is what a transport knows of the client around it: it tells, once each, of what both do.
type outerClient struct {
	longest     time.Duration // of the pipeline's Timeouts; 0: it has none
	layer       string        // which one that is
	toldLimit   atomic.Bool
	toldRetries atomic.Bool
}

// expect notes what the pipeline does itself.
func (o *outerClient) expect(d resilience.Description) {
	for _, l := range d.Layers {
		for _, s := range l.Settings {
			if l.Type != events.TypeTimeout || s.Name != "after" {
				continue
			}
			if after, err := time.ParseDuration(s.Value); err == nil && after > o.longest {
				o.longest, o.layer = after, l.Name
			}
		}
	}
}

// look looks at a request that comes from the client.
func (t *Transport) look(ctx context.Context, c *call) {
	o := &t.outer
	//lint:ignore SA1019 deprecated, and how http.Client's Timeout shows itself
	if c.req.Cancel != nil && c.pipeline == t.pipeline && !o.toldLimit.Load() {
		if end, ok := c.req.Context().Deadline(); ok {
			if left := time.Until(end); left < o.longest && o.toldLimit.CompareAndSwap(false, true) {
				t.warn(ctx, events.WarningClientTimeout, fmt.Sprintf("a request came from a client with a Timeout of its own and %v left, less than the "+
					"%v of layer %q: it ends as a cancellation by the caller, which no breaker counts; leave http.Client.Timeout zero, "+
					"or make it longer", left.Round(time.Millisecond), o.longest, o.layer))
			}
		}
	}
	if c.repeats && len(c.req.Header) > 0 && !o.toldRetries.Load() {
		if n, header := attemptIn(c.req.Header, t.cfg.AttemptHeader); n > 1 && o.toldRetries.CompareAndSwap(false, true) {
			t.warn(ctx, events.WarningNestedRetry, fmt.Sprintf("a request came as attempt %d of a client that retries by itself (%s), and the retry "+
				"of pipeline %q runs inside it: their attempts multiply; let one of the two retry", n, header, t.cfg.Name))
		}
	}
}

func (t *Transport) warn(ctx context.Context, code, message string) {
	bus := t.cfg.Bus
	if bus == nil {
		bus = events.Default()
	}
	told.Warning(ctx, bus, t.cfg.Name, code, message)
}

// attemptIn returns the number of the attempt that a request says it is, and the header that says so; 0 if none does.
func attemptIn(h http.Header, own string) (n int, header string) {
	if v := h.Get("Amz-Sdk-Request"); v != "" { // the AWS SDKs: "attempt=2; max=3"
		return numberAfter(v, "attempt="), "Amz-Sdk-Request"
	}
	if v := h.Get("X-Stainless-Retry-Count"); v != "" { // SDKs made by Stainless count retries
		return numberAfter(v, "") + 1, "X-Stainless-Retry-Count"
	}
	for _, v := range h["X-Goog-Api-Client"] { // Google Cloud Storage
		if n := numberAfter(v, "gccl-attempt-count/"); n > 0 {
			return n, "X-Goog-Api-Client"
		}
	}
	if own != "" {
		return numberAfter(h.Get(own), ""), own
	}
	return 0, ""
}

// numberAfter returns the number that follows what is marked in s, 0 if there is none.
func numberAfter(s, mark string) int {
	_, s, ok := strings.Cut(s, mark)
	if !ok {
		return 0
	}
	end := 0
	for end < len(s) && '0' <= s[end] && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return 0
	}
	return n
}
