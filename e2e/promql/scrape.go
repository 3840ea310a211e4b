package promql

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"
)

// Scrape is what a handler exposed at one moment.
type Scrape struct {
	At          time.Time
	ContentType string
	Body        []byte
}

// accept asks for the protobuf format: the text formats have no native histograms.
const accept = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

// Take scrapes a handler without a network, so that it works in a synctest bubble, where the time of the scrape is the
// bubble's.
func Take(h http.Handler) (Scrape, error) {
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return Scrape{}, fmt.Errorf("promql: the scrape answered %d: %s", w.Code, w.Body)
	}
	return Scrape{At: time.Now(), ContentType: w.Header().Get("Content-Type"), Body: w.Body.Bytes()}, nil
}
