package httpres_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// HTTP-08
func TestAttemptsAreNumberedWhenAsked(t *testing.T) {
	for header, want := range map[string]string{"": "[[7] [7] [7]]", "x-attempt": "[[1] [2] [3]]"} {
		var mu sync.Mutex
		var got [][]string
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, r.Header["X-Attempt"])
			w.WriteHeader(503)
		})
		tr := configured(t, s.base(), httpres.Config{Layers: []resilience.Layer{thrice}, AttemptHeader: header})
		req := request(t, "GET", s.URL, nil)
		req.Header.Set("X-Attempt", "7")
		send(t, tr, req)
		if fmt.Sprint(got) != want || req.Header.Get("X-Attempt") != "7" {
			t.Errorf("%q: the server got %v, want %v; the caller's request has %q", header, got, want, req.Header.Get("X-Attempt"))
		}
	}
}

// HTTP-08, HTTP-10: an attempt tells the server the time that is left, and the server understands it.
func TestServerIsToldTheTimeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		left := func(r *http.Request) time.Duration {
			d, _ := httpres.TimeoutFrom("Grpc-Timeout")(r)
			return d
		}
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			told = append(told, r.Header.Get("Grpc-Timeout"), left(r).String())
			time.Sleep(time.Second)
			return &http.Response{StatusCode: 503, Body: http.NoBody}, nil
		})
		cfg := httpres.Config{TimeoutHeader: "Grpc-Timeout", Layers: []resilience.Layer{
			resilience.Timeout{Name: "total", After: 4500 * time.Millisecond}, thrice, resilience.Timeout{Name: "attempt", After: 3 * time.Second}}}
		req := request(t, "GET", "http://x/", nil)
		req.Header.Set("Grpc-Timeout", "1n") // of who called the caller
		send(t, configured(t, base, cfg), req)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cfg.Layers = nil
		send(t, configured(t, base, cfg), req.WithContext(ctx))
		send(t, configured(t, base, cfg), req.WithContext(context.Background()))
		if got := fmt.Sprint(told); got != "[3000m 3s 3000m 3s 2500m 2.5s 60000m 1m0s  0s]" {
			t.Errorf("told %s", got)
		}
	})
}
