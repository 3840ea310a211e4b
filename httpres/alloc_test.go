//go:build !race

package httpres_test

import (
	"net/http"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// What a request costs besides its base, the clone of the request included. Most of what the layers add are the contexts of
// two Timeouts that somebody waits for.
func TestAllocationsOfARequest(t *testing.T) {
	answer := &http.Response{StatusCode: 200, Body: http.NoBody}
	base := roundTripper(func(*http.Request) (*http.Response, error) { return answer, nil })
	for name, c := range map[string]struct {
		layers []resilience.Layer
		most   float64
	}{"no layers": {nil, 13}, "five layers": {benchLayers(), 34}} {
		tr := httpres.MustTransport(base, httpres.Config{Name: "alloc", Layers: c.layers, Bus: events.NewBus()})
		req := request(t, "GET", "http://x.test/", nil)
		if n := testing.AllocsPerRun(200, func() {
			resp, err := tr.RoundTrip(req)
			if err != nil || resp.StatusCode != 200 {
				t.Fatal(err)
			}
		}); n > c.most {
			t.Errorf("%s: %v allocations, want at most %v", name, n, c.most)
		}
	}
}
