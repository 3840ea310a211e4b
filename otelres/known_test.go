package otelres

import (
	"runtime"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// What is known of a provider goes with it.
func TestCountsAreForgottenWithTheirProvider(t *testing.T) {
	made := func() {
		countsOf(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())).Meter(scope))
	}
	dead := func() (n int) {
		known.mu.Lock()
		defer known.mu.Unlock()
		for _, held := range known.counts {
			if held.Value() == nil {
				n++
			}
		}
		return n
	}
	made()
	for i := 0; dead() == 0; i++ {
		if i == 1000 {
			t.Fatal("the counts are held")
		}
		runtime.GC()
		runtime.Gosched()
	}
	made()
	if n := dead(); n != 0 {
		t.Errorf("%d that have gone are still listed", n)
	}
}
