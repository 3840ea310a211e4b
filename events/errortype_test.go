package events_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/telltale-go/telltale/events"
)

const secret = "secret-of-the-user"

// Errors of each kind; every one has the secret in its text.
type (
	classed   struct{ class string }
	httpError struct{ code int }
	response  struct{ code int }
	timeout   struct{ yes bool }
	plain     struct{}
	pointer   struct{ _ int }
	wrapper   struct{ inner error }
)

func (e classed) Error() string          { return secret }
func (e classed) ErrorType() string      { return e.class }
func (e *httpError) Error() string       { return secret }
func (e *httpError) HTTPStatusCode() int { return e.code }
func (e response) Error() string         { return secret }
func (e response) StatusCode() int       { return e.code }
func (e timeout) Error() string          { return secret }
func (e timeout) Timeout() bool          { return e.yes }
func (plain) Error() string              { return secret }
func (*pointer) Error() string           { return secret }
func (e wrapper) Error() string          { return secret }
func (e wrapper) Unwrap() error          { return e.inner }

// BUS-12
func TestErrorTypeNamesTheClassOfAnError(t *testing.T) {
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"nil":                          {nil, ""},
		"what it says of itself":       {classed{"throttled"}, "throttled"},
		"also wrapped":                 {fmt.Errorf("%s: %w", secret, classed{"throttled"}), "throttled"},
		"also joined":                  {errors.Join(errors.New(secret), classed{"throttled"}), "throttled"},
		"before all else":              {errors.Join(io.EOF, &httpError{503}, classed{"throttled"}), "throttled"},
		"but not if it says nothing":   {errors.Join(classed{""}, io.EOF), "eof"},
		"an HTTP status":               {&httpError{503}, "503"},
		"an HTTP status by other name": {fmt.Errorf("%w", response{429}), "429"},
		"the first status that fails":  {&httpError{400}, "400"},
		"the last status that fails":   {&httpError{599}, "599"},
		"a status that is no failure":  {&httpError{399}, "events_test.httpError"},
		"a status beyond":              {response{600}, "events_test.response"},
		"refused":                      {dial(syscall.ECONNREFUSED), "connection_refused"},
		"refused, over HTTP":           {&url.Error{Op: "Get", URL: secret, Err: dial(syscall.ECONNREFUSED)}, "connection_refused"},
		"reset":                        {dial(syscall.ECONNRESET), "connection_reset"},
		"a broken pipe":                {dial(syscall.EPIPE), "connection_reset"},
		"DNS":                          {&net.OpError{Op: "dial", Err: &net.DNSError{Name: secret, IsNotFound: true}}, "dns"},
		"DNS that timed out":           {&net.DNSError{Name: secret, IsTimeout: true}, "dns"},
		"canceled":                     {fmt.Errorf("%w", context.Canceled), "canceled"},
		"a deadline":                   {fmt.Errorf("%w", context.DeadlineExceeded), "timeout"},
		"a file's deadline":            {&fs.PathError{Op: "read", Path: secret, Err: os.ErrDeadlineExceeded}, "timeout"},
		"a timeout":                    {timeout{true}, "timeout"},
		"no timeout":                   {timeout{false}, "events_test.timeout"},
		"EOF":                          {fmt.Errorf("read: %w", io.EOF), "eof"},
		"an unexpected EOF":            {io.ErrUnexpectedEOF, "eof"},
		"a type":                       {plain{}, "events_test.plain"},
		"a pointer's type":             {&pointer{}, "events_test.pointer"},
		"the innermost type":           {wrapper{fmt.Errorf("%w", wrapper{&pointer{}})}, "events_test.pointer"},
		"the first of those joined":    {errors.Join(plain{}, &pointer{}), "events_test.plain"},
		"a wrapper of nothing":         {wrapper{nil}, "events_test.wrapper"},
		"no type of its own":           {errors.New(secret), events.OtherErrorType},
		"a text around one":            {fmt.Errorf("%s: %w", secret, errors.New(secret)), events.OtherErrorType},
		"several texts":                {fmt.Errorf("%w, %w", errors.New(secret), plain{}), events.OtherErrorType},
		"joined texts":                 {errors.Join(errors.New(secret), errors.New(secret)), events.OtherErrorType},
	} {
		got := events.ErrorType(c.err)
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if strings.Contains(got, secret) {
			t.Errorf("%s: the class has the error's text", name)
		}
	}
}

// BUS-12 PROM-02
func TestErrorTypesAreBoundedAndKeepThoseThatCameFirst(t *testing.T) {
	var types events.ErrorTypes
	for range 2 {
		for i := range 30 {
			class := fmt.Sprint("class", i)
			want := class
			if i >= 10 {
				want = events.OtherErrorType
			}
			if got := types.Of(classed{class}); got != want {
				t.Errorf("class %d: %q, want %q", i, got, want)
			}
		}
	}
	if got := types.Of(nil); got != "" {
		t.Errorf("nil: %q", got)
	}
	if got := new(events.ErrorTypes).Of(errors.New(secret)); got != events.OtherErrorType {
		t.Errorf("no class: %q", got)
	}
}

func TestErrorTypesDoNotCountOther(t *testing.T) {
	var types events.ErrorTypes
	for i := range 10 {
		types.Of(errors.New(secret))
		if class := fmt.Sprint("class", i); types.Of(classed{class}) != class {
			t.Errorf("%s is among the first ten classes, and has no series", class)
		}
	}
}

// BUS-12 PROM-02
func TestErrorTypesAreBoundedUnderConcurrency(t *testing.T) {
	var types events.ErrorTypes
	var seen sync.Map
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 200 {
				seen.Store(types.Of(classed{fmt.Sprint("class", (i+worker*7)%40)}), true)
			}
		})
	}
	all.Wait()
	n := 0
	for range seen.Range {
		n++
	}
	if n != 11 {
		t.Fatalf("%d classes, want ten and _OTHER", n)
	}
}

// BUS-12
func TestErrorTypesDoNotAllocate(t *testing.T) {
	for name, err := range map[string]error{
		"its own":  fmt.Errorf("%w", classed{"throttled"}),
		"deadline": fmt.Errorf("%w", context.DeadlineExceeded),
		"type":     wrapper{plain{}},
		"text":     fmt.Errorf("%w", errors.New(secret)),
	} {
		var types events.ErrorTypes
		if n := testing.AllocsPerRun(100, func() { types.Of(err) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

func BenchmarkErrorType(b *testing.B) {
	var types events.ErrorTypes
	for name, err := range map[string]error{"own": classed{"throttled"}, "text": fmt.Errorf("%w", errors.New(secret))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				types.Of(err)
			}
		})
	}
}
