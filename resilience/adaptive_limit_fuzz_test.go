package resilience

import (
	"math"
	"testing"
)

// LIM-08: whatever calls take and however they end, in whatever order, also with a clock that goes back: the limit is a
// number in its bounds, and rounds go on.
func FuzzAdaptationStaysSound(f *testing.F) {
	f.Add(uint16(20), uint16(1), uint16(1000), int64(0), []byte("\x01\x10\x80\x01\x20\x80\x02\x30\x80"))
	f.Add(uint16(1), uint16(1), uint16(1), int64(math.MinInt64), []byte("\x01\x3f\x00\x02\x3e\xff\x03\x00\x01"))
	f.Add(uint16(500), uint16(3), uint16(500), int64(math.MaxInt64), []byte("\x11\x3f\x40\x21\x01\x41\x31\x25\x42"))
	f.Add(uint16(7), uint16(2), uint16(9), int64(-850_000_000_000_000_000), []byte("\xf1\x3f\x40\xe1\x00\x00\xd1\x0a\x42\xc2\x14\x42"))
	f.Fuzz(func(t *testing.T, initial, least, most uint16, at int64, bytes []byte) {
		if len(bytes) > 300 || least == 0 || initial < least || most < initial {
			return
		}
		a := newAdaptation(int(initial), int(least), int(most), at)
		for s := (schedule{bytes}); len(s.bytes) > 0; {
			kind, latency := s.next(), int64(1)<<(s.next()%64) // 1<<63 is negative
			if kind&8 != 0 {
				latency = -latency
			}
			step := int64(s.next()) << (kind >> 4 * 3)
			for range 70 { // a round's worth
				round := a.begin(at, int64(kind)*4)
				at += step // wraps
				a.round.refused = a.round.refused || kind&4 != 0
				a.end(round, at, latency, callEnd(1+kind%4))
				if !(a.limit >= float64(least) && a.limit <= float64(most)) || !(a.base >= 0 && a.base <= float64(longestRound)) ||
					a.patience < minPatience || a.patience > longestRound || a.round.sampled < minSampled || a.round.sampled > maxSampled {
					t.Fatalf("%+v", a)
				}
			}
		}
		// Whatever came before, and whatever clock it left, calls go on being measured.
		number := a.round.number
		for range 3 * maxSampled {
			at += 5 * longestRound / maxSampled
			a.end(a.begin(at, 1), at, 1000, callAnswered)
			a.look(at)
		}
		if a.round.number == number {
			t.Fatalf("no round has passed: %+v", a)
		}
	})
}
