//go:build !race

package httpres_test

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// What a request costs besides its base, the clone of the request included. A loopback exchange costs three more: net/http
// waits for the attempt's context, and makes its own a child of it.
func TestAllocationsOfARequest(t *testing.T) {
	body := io.NopCloser(strings.NewReader(""))
	for name, c := range map[string]struct {
		layers []resilience.Layer
		most   float64
	}{"no layers": {nil, 5}, "a preset": {httpres.Standard("alloc").Layers, 9}} {
		for _, given := range []io.ReadCloser{http.NoBody, body} {
			answer := &http.Response{StatusCode: 200}
			base := roundTripper(func(*http.Request) (*http.Response, error) {
				answer.Body = given
				return answer, nil
			})
			tr := httpres.MustTransport(base, httpres.Config{Name: "alloc", Layers: c.layers, Bus: events.NewBus()})
			req := request(t, "GET", "http://x.test/", nil)
			if n := testing.AllocsPerRun(200, func() {
				resp, err := tr.RoundTrip(req)
				if err != nil || resp.StatusCode != 200 {
					t.Fatal(err)
				}
				resp.Body.Close()
			}); n > c.most {
				t.Errorf("%s: %v allocations, want at most %v", name, n, c.most)
			}
		}
	}
}

// What a preset adds to a loopback GET that succeeds: at most twelve allocations.
func TestAllocationsAddedToALoopbackRequest(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	cfg := httpres.Standard("alloc")
	cfg.Bus = events.NewBus()
	cost := func(rt http.RoundTripper) float64 {
		const n = 2000
		client := &http.Client{Transport: rt}
		var before, after runtime.MemStats
		for i := range 2 * n {
			if i == n {
				runtime.ReadMemStats(&before)
			}
			resp, err := client.Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		runtime.ReadMemStats(&after)
		return float64(after.Mallocs-before.Mallocs) / n
	}
	bare := cost(s.base())
	if added := cost(httpres.MustTransport(s.base(), cfg)) - bare; added > 12.5 { // what the runtime does itself is in it
		t.Errorf("%.2f allocations are added to %.2f, want at most 12", added, bare)
	}
}
