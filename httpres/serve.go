package httpres

import (
	"context"
	"errors"
	"log"
	"net/http"
	"strings"

	"github.com/telltale-go/telltale/resilience"
)

// served is one request on its way through a Middleware.
type served struct {
	next    http.Handler
	writer  *responseWriter
	as      http.ResponseWriter // writer, with what the server's can do besides
	req     *http.Request
	once    bool // it has come to the handler
	aborted bool // the handler panicked with http.ErrAbortHandler
}

var (
	errAborted     = errors.New("httpres: the handler aborted the response")
	errServedTwice = errors.New("httpres: the request has been served and must not be served again")
)

func (m *Middleware) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if m.cfg.Priority != nil {
		ctx = resilience.WithPriority(ctx, m.cfg.Priority(r))
	}
	if m.cfg.Timeout != nil {
		if left, ok := m.cfg.Timeout(r); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, left)
			defer cancel()
		}
	}
	key := ""
	if m.cfg.Key != nil {
		key = m.cfg.Key(r)
	}
	s := &served{next: next, req: r}
	s.writer, s.as = wrapWriter(w)
	_, err := m.pipeline.DoKey(ctx, key, s.serve)
	if s.aborted {
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		m.conclude(s, err)
	}
}

// serve is the pipeline's operation. It returns the status.
func (s *served) serve(ctx context.Context) (status int, err error) {
	if s.once {
		return 0, errServedTwice
	}
	s.once = true
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			s.aborted = true
			err = errAborted
		default:
			panic(p) // the pipeline recovers it
		}
	}()
	s.next.ServeHTTP(s.as, s.req.WithContext(ctx))
	if s.writer.status == 0 && !s.writer.hijacked && ctx.Err() != nil {
		return 0, ctx.Err() // it gave up
	}
	return s.writer.answered(), nil
}

// classifyServed makes a failure of an answer from 500 on.
func classifyServed(status int, err error) error {
	if err == nil && status >= http.StatusInternalServerError {
		return &StatusError{code: status}
	}
	return err
}

// conclude answers a request that has an error, unless the handler has.
func (m *Middleware) conclude(s *served, err error) {
	var panicked *resilience.PanicError
	if errors.As(err, &panicked) {
		logPanic(s.req, panicked)
	}
	switch {
	case s.writer.hijacked:
		return
	case s.writer.status != 0:
		if panicked != nil {
			panic(http.ErrAbortHandler) // else the client would take the half for the whole
		}
		return
	}
	status := http.StatusInternalServerError
	if panicked == nil {
		status = statusFor(err)
	}
	forget(s.as.Header())
	if after := m.retryAfter(status, err); after != "" {
		s.as.Header().Set("Retry-After", after)
	}
	m.cfg.Respond(s.as, s.req, status, err)
}

// logPanic logs as net/http would have.
func logPanic(r *http.Request, p *resilience.PanicError) {
	logf := log.Printf
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ErrorLog != nil {
		logf = s.ErrorLog.Printf
	}
	logf("http: panic serving %v: %v\n%s", r.RemoteAddr, p.Value, p.Stack)
}

func parsePriority(s string) resilience.Priority {
	for p := resilience.PrioritySheddable; p <= resilience.PriorityCritical; p++ {
		if strings.EqualFold(strings.TrimSpace(s), p.String()) {
			return p
		}
	}
	return resilience.PriorityNormal
}
