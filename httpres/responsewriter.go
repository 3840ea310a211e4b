package httpres

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
)

// responseWriter is a handler's, which notes what was answered. The types below add what the server's can do besides:
// handlers ask for it by type.
type responseWriter struct {
	http.ResponseWriter     // the server's
	status              int // 0: nothing was written yet
	hijacked            bool
}

// wrapWriter returns a writer for w, and the same as a handler should have it.
func wrapWriter(w http.ResponseWriter) (*responseWriter, http.ResponseWriter) {
	rw := &responseWriter{ResponseWriter: w}
	_, flushes := w.(http.Flusher)
	hijacker, hijacks := w.(http.Hijacker)
	pusher, pushes := w.(http.Pusher)
	switch {
	case flushes && hijacks:
		return rw, hijackWriter{flushWriter{rw}, hijacker}
	case flushes && pushes:
		return rw, pushWriter{flushWriter{rw}, pusher}
	case flushes:
		return rw, flushWriter{rw}
	}
	return rw, rw
}

// answered returns the status of a handler that has returned: net/http sends 200 where it has written nothing.
func (w *responseWriter) answered() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

// begin notes that something is written: if no status was, that is 200.
func (w *responseWriter) begin() {
	if w.status == 0 {
		w.status = http.StatusOK
	}
}

// WriteHeader notes the status, unless it is one that others follow.
func (w *responseWriter) WriteHeader(status int) {
	if w.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(p)
}

func (w *responseWriter) WriteString(s string) (int, error) {
	w.begin()
	return io.WriteString(w.ResponseWriter, s)
}

// ReadFrom lets the server's writer send a file by itself.
func (w *responseWriter) ReadFrom(r io.Reader) (int64, error) {
	w.begin()
	return io.Copy(w.ResponseWriter, r)
}

// Unwrap is for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

type flushWriter struct{ *responseWriter }

func (w flushWriter) Flush() { _ = w.FlushError() }

// FlushError is for http.ResponseController.
func (w flushWriter) FlushError() error {
	w.begin()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

type hijackWriter struct {
	flushWriter
	hijacker http.Hijacker
}

func (w hijackWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := w.hijacker.Hijack()
	if err == nil || errors.Is(err, http.ErrHijacked) {
		w.hijacked = true
	}
	return conn, buf, err
}

type pushWriter struct {
	flushWriter
	http.Pusher
}
