package resilience

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/telltale-go/telltale/events"
)

// stack is a pipeline as the rules for warnings see it, the outermost layer first.
type stack struct {
	bus    *events.Bus
	layers []traits
	names  []string
	given  []string // the names before those that stand twice got their positions; empty: none
}

// warnings asks every rule.
func (s stack) warnings() (all []Warning) {
	for i, l := range s.layers {
		switch {
		case l.limit > 0:
			all = append(all, s.timeoutOrder(i)...)
			all = append(all, s.timeoutTwice(i)...)
		case l.retry != nil:
			all = append(all, s.nestedRetry(i)...)
			all = append(all, s.totalTooShort(i)...)
			all = append(all, s.cooldownTooLong(i)...)
			all = append(all, s.rejectionsNotRetried(i)...)
		case l.breaker != nil:
			all = append(all, s.hangUnnoticed(i)...)
		case l.room:
			all = append(all, s.bulkheadInRetry(i)...)
		case l.measures:
			all = append(all, s.adaptiveOutsideRetry(i)...)
		case l.answers:
			all = append(all, s.failuresHidden(i)...)
		}
		all = append(all, s.sameName(i)...)
		if l.bus != nil && l.bus != s.bus {
			all = append(all, s.warning(events.WarningOtherBus, "%s tells another bus than its pipeline: who listens to the pipeline's does not "+
				"hear of its state", []int{i}))
		}
		if l.bus == nil { // else its state was warned of when it was made
			all = append(all, shortDurations(l.durations, i)...)
		}
	}
	return all
}

// warning makes a warning whose message begins with the names of its layers, one for each %s.
func (s stack) warning(code, format string, layers []int, more ...any) Warning {
	var args []any
	for _, i := range layers {
		args = append(args, fmt.Sprintf("layer %d (%s)", i, s.names[i]))
	}
	return Warning{code, fmt.Sprintf(format, append(args, more...)...), layers}
}

// limitOutside finds the timeout outside of position that ends first; -1 if there is none.
func (s stack) limitOutside(position int) int { return s.shortest(0, position) }

// limitInside finds the timeout inside of position that ends first; -1 if there is none.
func (s stack) limitInside(position int) int { return s.shortest(position+1, len(s.layers)) }

func (s stack) shortest(from, to int) (at int) {
	at = -1
	for i := from; i < to; i++ {
		if limit := s.layers[i].limit; limit > 0 && (at < 0 || limit < s.layers[at].limit) {
			at = i
		}
	}
	return at
}

// outside finds the innermost layer outside of position that is so; -1 if there is none.
func (s stack) outside(position int, is func(traits) bool) int {
	for i := position - 1; i >= 0; i-- {
		if is(s.layers[i]) {
			return i
		}
	}
	return -1
}

// inside finds the outermost layer inside of position that is so; -1 if there is none.
func (s stack) inside(position int, is func(traits) bool) int {
	for i := position + 1; i < len(s.layers); i++ {
		if is(s.layers[i]) {
			return i
		}
	}
	return -1
}

func retries(t traits) bool { return t.retry != nil }

func (s stack) timeoutOrder(inner int) []Warning {
	outer := s.limitOutside(inner)
	if outer < 0 || s.layers[inner].limit < s.layers[outer].limit {
		return nil
	}
	return []Warning{s.warning(events.WarningTimeoutOrder, "%s ends before or with %s, which never ends anything by itself: %v is not shorter than %v",
		[]int{outer, inner}, s.layers[inner].limit, s.layers[outer].limit)}
}

func (s stack) timeoutTwice(inner int) []Warning {
	outer := s.outside(inner, func(t traits) bool { return t.limit > 0 || t.repeats })
	if outer < 0 || s.layers[outer].limit == 0 {
		return nil
	}
	return []Warning{s.warning(events.WarningTimeoutTwice, "%s and %s: nothing between them starts a second attempt, so one of the two is enough",
		[]int{outer, inner})}
}

func (s stack) nestedRetry(inner int) []Warning {
	outer := s.outside(inner, retries)
	if outer < 0 {
		return nil
	}
	return []Warning{s.warning(events.WarningNestedRetry, "%s has %s inside it: their attempts multiply (%v x %v)", []int{outer, inner},
		attempts(s.layers[outer].retry), attempts(s.layers[inner].retry))}
}

// totalTooShort warns where the first attempt, if it takes all its time, leaves none for a second.
func (s stack) totalTooShort(retry int) []Warning {
	total, attempt := s.limitOutside(retry), s.limitInside(retry)
	if total < 0 || attempt < 0 {
		return nil
	}
	whole, one := s.layers[total].limit, s.layers[attempt].limit
	delay := s.layers[retry].retry.longest(1, 0)
	if one >= whole || delay < whole-one { // the first is a matter of their order
		return nil
	}
	return []Warning{s.warning(events.WarningTotalTooShort, "%s leaves no time for %s after an attempt that %s ended: %v + a delay of up to %v is not "+
		"less than %v", []int{total, retry, attempt}, one, delay, whole)}
}

// cooldownTooLong warns where a retry of rejections has given up before the breaker lets a probe through. Each delay is
// at least what is left of the cooldown, up to MaxDelay.
func (s stack) cooldownTooLong(retry int) (all []Warning) {
	r := s.layers[retry].retry
	if !r.RetryRejections {
		return nil
	}
	span := r.MaxDelay
	if !r.StopOnLongHint {
		span = times(r.MaxDelay, r.MaxAttempts-1)
	}
	if r.MaxAttempts == Unlimited && !r.StopOnLongHint {
		span = math.MaxInt64
	}
	if total := s.limitOutside(retry); total >= 0 {
		span = min(span, s.layers[total].limit)
	}
	for i := retry + 1; i < len(s.layers); i++ {
		if b := s.layers[i].breaker; b != nil && span < b.cooldown {
			all = append(all, s.warning(events.WarningCooldownTooLong, "%s retries rejections for %[3]v at most, and %[2]s stays open for %[4]v",
				[]int{retry, i}, span, b.cooldown))
		}
	}
	return all
}

func (s stack) hangUnnoticed(breaker int) []Warning {
	if s.layers[breaker].breaker.slow || s.shortest(0, len(s.layers)) >= 0 {
		return nil
	}
	return []Warning{s.warning(events.WarningHangUnnoticed, "%s would never open if calls hang: the pipeline has no Timeout", []int{breaker})}
}

func (s stack) bulkheadInRetry(room int) []Warning {
	outer := s.outside(room, retries)
	if outer < 0 {
		return nil
	}
	return []Warning{s.warning(events.WarningBulkheadInRetry, "%s has %s inside it: a call gives its place away between its attempts and may not find "+
		"another; put the bulkhead outside", []int{outer, room})}
}

// rejectionsNotRetried warns where the only layers of the pipeline that reject are such as the retry does not retry. Where
// none does, the operation has a breaker of its own, or so it seems.
func (s stack) rejectionsNotRetried(retry int) []Warning {
	breaks := func(t traits) bool { return t.breaker != nil }
	if !s.layers[retry].retry.RetryRejections || s.inside(retry, func(t traits) bool { return breaks(t) || t.foreign }) >= 0 {
		return nil
	}
	if outer := s.outside(retry, breaks); outer >= 0 {
		return []Warning{s.warning(events.WarningRejectionsNotRetried, "%s rejects outside of %s, which has RetryRejections and never sees it",
			[]int{outer, retry})}
	}
	if limiter := s.inside(retry, func(t traits) bool { return t.limits }); limiter >= 0 {
		return []Warning{s.warning(events.WarningRejectionsNotRetried, "%s has RetryRejections, which retries those of a breaker alone, and only %s inside it",
			[]int{retry, limiter})}
	}
	return nil
}

func (s stack) adaptiveOutsideRetry(limiter int) []Warning {
	inner := s.inside(limiter, retries)
	if inner < 0 {
		return nil
	}
	return []Warning{s.warning(events.WarningAdaptiveOutsideRetry, "%s takes what %s waits between its attempts for latency, and lowers its limit; "+
		"put it inside", []int{limiter, inner})}
}

// failuresHidden warns of every layer outside of a fallback that is there for failures and sees none, unless what stands
// between may make some of its own.
func (s stack) failuresHidden(fallback int) (all []Warning) {
	for i := fallback - 1; i >= 0 && !s.layers[i].foreign && !s.layers[i].abandons; i-- {
		if l := s.layers[i]; l.retry != nil || l.breaker != nil && l.breaker.failures {
			all = append(all, s.warning(events.WarningFailuresHidden, "%s never sees a failure: %s inside it answers for all of them", []int{i, fallback}))
		}
	}
	return all
}

// sameName warns of the layers that were given the name of this one, at the first of them.
func (s stack) sameName(first int) []Warning {
	name := s.given[first]
	if name == "" || slices.Index(s.given, name) < first {
		return nil
	}
	var at []int
	for i, given := range s.given {
		if given == name {
			at = append(at, i)
		}
	}
	if len(at) == 1 {
		return nil
	}
	return []Warning{s.warning(events.WarningSameName, strings.Repeat("%s, ", len(at)-1)+"%s were all given the name "+quoted(name)+
		": telemetry shows them with their positions, which change with the layers around them; give each its own", at)}
}

// quoted writes a name into a format.
func quoted(name string) string { return strings.ReplaceAll(strconv.Quote(name), "%", "%%") }

// times multiplies without overflow.
func times(d time.Duration, n int) time.Duration {
	if d > 0 && time.Duration(n) > math.MaxInt64/d {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}

func attempts(r *Retry) string {
	if r.MaxAttempts == Unlimited {
		return "unlimited"
	}
	return fmt.Sprint(r.MaxAttempts)
}
