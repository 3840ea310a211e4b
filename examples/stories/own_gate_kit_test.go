package stories_test

import (
	"testing"

	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/resilience/resiliencetest"
)

// A gate of one's own is 15 lines, and easily wrong: a permit that is lost when the operation panics is missed at night.
// The kit checks what every gate must keep. It is told what to expect of this one: it admits a day's quota, and refuses
// then.
func TestTheQuotaKeepsWhatEveryGateMust(t *testing.T) {
	withLeft := func(n int64) resilience.Gate {
		q := new(quota)
		q.left.Store(n)
		return q
	}
	resiliencetest.TestGate(t, func() resilience.Gate { return withLeft(10_000) }, resiliencetest.GateOptions{
		Refusing: func() resilience.Gate { return withLeft(0) },
	})
}
