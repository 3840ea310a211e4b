package resilience

import "testing"

// LIM-02: between the end of a call and the grant of its permit to the first who waits, nobody else takes it.
func TestNobodyOvertakesOneWhoWaits(t *testing.T) {
	p := &permits{maxQueue: 1}
	p.max.Store(1 << 40)
	p.word.Store(oneWaits + 1)
	if p.take() {
		t.Error("one more runs while one waits")
	}
	p.word.Store(1)
	if !p.take() || p.running() != 2 {
		t.Errorf("nobody waits: %+v", p.reading())
	}
}
