package httpres_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// benchLayers are a usual pipeline's.
func benchLayers() []resilience.Layer {
	return []resilience.Layer{
		resilience.MustBulkhead(resilience.BulkheadConfig{Name: "b", MaxConcurrent: 1000, Bus: events.Off()}), resilience.Timeout{Name: "total", After: 30 * time.Second},
		resilience.Retry{}, resilience.MustBreaker(resilience.BreakerConfig{Name: "b", Bus: events.Off()}), resilience.Timeout{Name: "attempt", After: 9 * time.Second},
	}
}

// What a transport costs beside its base: compare with "bare".
func BenchmarkTransport(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer s.Close()
	base := s.Client().Transport
	fake := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	})
	wrapped := func(base http.RoundTripper, layers ...resilience.Layer) http.RoundTripper {
		return httpres.MustTransport(base, httpres.Config{Name: "bench", Layers: layers, Bus: events.NewBus()})
	}
	standard := func(base http.RoundTripper) http.RoundTripper {
		cfg := httpres.Standard("bench")
		cfg.Bus = events.NewBus()
		return httpres.MustTransport(base, cfg)
	}
	for _, c := range []struct {
		name string
		rt   http.RoundTripper
	}{
		{"fake/bare", fake}, {"fake/no_layers", wrapped(fake)}, {"fake/full", wrapped(fake, benchLayers()...)}, {"fake/standard", standard(fake)},
		{"loopback/bare", base}, {"loopback/no_layers", wrapped(base)}, {"loopback/full", wrapped(base, benchLayers()...)}, {"loopback/standard", standard(base)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			req, err := http.NewRequest("GET", s.URL, nil)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				resp, err := c.rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				if resp.Body != nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		})
	}
}
