//go:build !race

package e2e

import (
	"context"
	"testing"
)

// What observing costs in memory: one record of the call, and what OpenTelemetry's SDK takes for two spans, which makes 20
// allocations without us (otelres's BenchmarkBare).
func TestObservingAllocatesNoMoreThanItMust(t *testing.T) {
	op := func(context.Context) (int, error) { return 1, nil }
	for _, o := range observers() {
		p, ctx := o.canonical(), context.Background()
		got := testing.AllocsPerRun(1000, func() {
			if _, err := p.Do(ctx, op); err != nil {
				t.Fatal(err)
			}
		})
		if got > o.allocs {
			t.Errorf("%s: %v allocations a call, want at most %v", o.name, got, o.allocs)
		}
	}
}
