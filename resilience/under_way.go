package resilience

// underWaySlots is how many slots the calls under way are counted in, by when they began. A slot is a quarter of the limit
// wide: five of them cover those of which some may not have exceeded it.
const underWaySlots = 5

// underWay counts the calls under way by when they began, so that those that have exceeded a limit are seen without a timer:
// up to a quarter of the limit late, never early. It takes the time; its owner guards it.
type underWay struct {
	start int64                 // of the newest slot; meaningful once a call has entered
	young [underWaySlots]uint32 // the newest slot first
	hung  uint32                // began before the oldest slot: they have exceeded the limit
}

// slotWidth is such that four slots are not shorter than the limit.
func slotWidth(limit int64) int64 { return limit/4 + min(limit%4, 1) }

// enter counts a call that begins now.
func (f *underWay) enter(now, width int64) {
	f.roll(now, width)
	f.young[0]++
}

// leave takes out a call that began at began, which must have entered since the last clear. It tells whether the number of
// those that have exceeded the limit is another.
func (f *underWay) leave(began, now, width int64) (other bool) {
	other = f.roll(now, width)
	count := &f.hung
	for age, start := 0, f.start; age < underWaySlots; age, start = age+1, start-width {
		if began >= start {
			count = &f.young[age]
			break
		}
	}
	other = other || count == &f.hung
	if *count > 0 { // a call of another clock may be looked for in the wrong slot
		*count--
	}
	return other
}

// roll moves those that have exceeded the limit at now, and tells whether there may be others. A clock that goes back is
// another one (another synctest bubble): its calls are forgotten.
func (f *underWay) roll(now, width int64) bool {
	passed := now - f.start
	if passed >= 0 && passed < width {
		return false
	}
	if passed < 0 {
		*f = underWay{start: now}
		return true
	}
	ahead := passed / width
	f.start += ahead * width
	for ahead = min(ahead, underWaySlots); ahead > 0; ahead-- {
		f.hung += f.young[underWaySlots-1]
		copy(f.young[1:], f.young[:])
		f.young[0] = 0
	}
	return true
}

// at returns how many exceed the limit at now, and since when it is as many as that, without changing anything.
func (f *underWay) at(now, width int64) (hung, since int64) {
	copied := *f
	copied.roll(now, width)
	for age, n := range f.young {
		if crossed := f.start + int64(underWaySlots-age)*width; n > 0 && crossed <= now {
			return int64(copied.hung), crossed
		}
	}
	return int64(copied.hung), min(f.start, now)
}
