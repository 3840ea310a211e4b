package resilience

import (
	"context"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// overtaken is a gate whose key is used at the very moment in which it would be forgotten.
type overtaken struct {
	*Bulkhead
	use func()
}

func (o *overtaken) remembers() bool {
	if o.use != nil {
		o.use()
	}
	return false
}

func TestAKeyThatIsUsedWhileItWouldBeForgottenStays(t *testing.T) {
	var k *Keyed
	k = MustKeyed(KeyedConfig{Name: "k", MaxKeys: 1, IdleAfter: -1, Bus: events.Off(), New: func(key string) (Gate, error) {
		o := &overtaken{Bulkhead: MustBulkhead(BulkheadConfig{Name: "b", Bus: events.Off()})}
		if key == "a" {
			asked := 0
			o.use = func() {
				if asked++; asked == 2 { // the last look before it goes
					k.ring[0].uses.Add(1)
				}
			}
		}
		return o, nil
	}})
	succeed := func(context.Context) error { return nil }
	_ = k.RunKey(t.Context(), "a", succeed)
	_ = k.RunKey(t.Context(), "b", succeed)
	if _, there := k.Get("a"); !there {
		t.Error("it was forgotten while a call used it")
	}
}
