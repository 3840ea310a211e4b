package events_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// enum is what each of the package's enums offers.
type enum interface {
	~uint8
	comparable
	fmt.Stringer
	encoding.TextMarshaler
}

// check proves that every value of an enum has its own name, which reads back, and that nothing else does. zeroIsText
// tells that the zero value means "nothing to tell" instead of a mistake.
func check[E enum, P interface {
	*E
	encoding.TextUnmarshaler
}](t *testing.T, all []E, zeroIsText bool) {
	name := fmt.Sprintf("%T", all[0])
	lower := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	seen := map[string]bool{}
	for i, v := range all {
		if int(v) != i+1 {
			t.Errorf("%s: value %d is %d: enums start at 1 and have no gap", name, i, uint8(v))
		}
		text, err := v.MarshalText()
		if err != nil || string(text) != v.String() || !lower.MatchString(v.String()) || seen[v.String()] {
			t.Errorf("%s(%d): text %q, %v, string %q: they are one name of its own", name, v, text, err, v)
		}
		seen[v.String()] = true
		var back E
		if err := P(&back).UnmarshalText(text); err != nil || back != v {
			t.Errorf("%s: %q reads back as %v, %v", name, text, back, err)
		}
		var fromJSON struct{ V E }
		if b, err := json.Marshal(struct{ V E }{v}); err != nil || json.Unmarshal(b, &fromJSON) != nil || fromJSON.V != v {
			t.Errorf("%s: %v does not survive JSON: %s", name, v, b)
		}
	}
	beyond := []E{E(len(all) + 1), 255}
	if !zeroIsText {
		beyond = append(beyond, 0)
	}
	for _, v := range beyond {
		if text, err := v.MarshalText(); err == nil {
			t.Errorf("%s(%d) has the text %q", name, v, text)
		}
		if got := v.String(); !regexp.MustCompile(`^[A-Z]\w*\(\d+\)$`).MatchString(got) {
			t.Errorf("%s(%d) has the string %q", name, uint8(v), got)
		}
	}
	bad := []string{"nonsense", all[0].String() + " ", strings.ToUpper(all[0].String()), "Outcome(0)", "1"}
	if !zeroIsText {
		bad = append(bad, "")
	}
	for _, text := range bad {
		v := all[0]
		if err := P(&v).UnmarshalText([]byte(text)); err == nil || v != all[0] {
			t.Errorf("%s: %q reads as %v, %v, want an error and the value as it was", name, text, v, err)
		}
	}
}

func TestEnumsReadBackFromTheirText(t *testing.T) {
	check(t, events.Outcomes(), false)
	check(t, events.AttemptKinds(), false)
	check(t, events.States(), false)
	check(t, events.Reasons(), true)
	check(t, events.FlightRoles(), false)
	check(t, events.Faults(), false)
	check(t, []events.Severity{events.SeverityDebug, events.SeverityInfo, events.SeverityWarn, events.SeverityError}, false)
}

func TestAttemptsHaveEveryOutcomeButThoseOfLayers(t *testing.T) {
	want := slices.DeleteFunc(events.Outcomes(), func(o events.Outcome) bool {
		return o == events.OutcomeRejected || o == events.OutcomeFallback
	})
	if got := events.AttemptOutcomes(); !slices.Equal(got, want) {
		t.Fatalf("AttemptOutcomes = %v, want %v", got, want)
	}
}

func TestEnumErrorsTellWhatIsAllowed(t *testing.T) {
	var k events.AttemptKind
	if err := k.UnmarshalText([]byte("third")); err == nil || err.Error() != `events: AttemptKind "third" is not one of initial, retry, hedge` {
		t.Errorf("reading: %v", err)
	}
	if _, err := events.AttemptKind(9).MarshalText(); err == nil || err.Error() != "events: AttemptKind(9) is not one of initial, retry, hedge" {
		t.Errorf("writing: %v", err)
	}
}

func TestEnumConstantsAllHaveANameAndAreListed(t *testing.T) {
	want := map[string]int{"Outcome": len(events.Outcomes()), "AttemptKind": len(events.AttemptKinds()), "State": len(events.States()),
		"Reason": len(events.Reasons()), "Severity": 4, "FlightRole": len(events.FlightRoles()), "Fault": len(events.Faults())}
	got := map[string]int{}
	for _, file := range source(t) {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				if first, ok := g.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident); ok {
					got[first.Name] += len(g.Specs)
				}
			}
		}
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: %d constants are declared, %d listed", name, got[name], n)
		}
	}
}

func TestReasonZeroIsNothingToTell(t *testing.T) {
	var r events.Reason
	if text, err := r.MarshalText(); err != nil || len(text) != 0 || r.String() != "" {
		t.Errorf("the zero reason is %q, %q, %v", text, r.String(), err)
	}
	r = events.ReasonFull
	if err := r.UnmarshalText(nil); err != nil || r != 0 {
		t.Errorf("no text reads as %v, %v", r, err)
	}
}

// PITFALL-12
func TestReasonsBelongToOneKindOfDecisionEach(t *testing.T) {
	var transitions []events.Reason
	seen := map[events.Transition]bool{}
	for _, c := range events.Transitions() {
		if seen[c] || !slices.Contains(events.States(), c.To) {
			t.Errorf("%v is listed twice, or enters no state", c)
		}
		if seen[c] = true; !slices.Contains(transitions, c.Reason) {
			transitions = append(transitions, c.Reason)
		}
	}
	all := slices.Concat(events.RejectionReasons("a type of the user's"), events.StopReasons(), transitions, []events.Reason{events.ReasonAdapted})
	slices.Sort(all)
	if !slices.Equal(all, events.Reasons()) {
		t.Errorf("rejections, stops and transitions have %v, want every reason once: %v", all, events.Reasons())
	}
}

// PITFALL-12
func TestRejectionReasonsAreThoseALayerGives(t *testing.T) {
	for layer, want := range map[string][]events.Reason{
		events.TypeRateLimiter:     {events.ReasonRate},
		events.TypeBreaker:         {events.ReasonOpen, events.ReasonForcedOpen, events.ReasonProbing},
		events.TypeBulkhead:        {events.ReasonFull, events.ReasonQueueTimeout, events.ReasonShed},
		events.TypeAdaptiveLimiter: {events.ReasonFull, events.ReasonShed},
		events.TypeRetry:           nil,
		events.TypeHedge:           nil, events.TypeSingleflight: nil, events.TypeFallback: nil, events.TypeChaos: nil, events.TypeRetryBudget: nil,
		events.TypeTimeout:  nil,
		events.TypeAround:   nil,
		events.TypePipeline: nil,
		"a user's own":      events.RejectionReasons(events.TypeCustom),
	} {
		if got := events.RejectionReasons(layer); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", layer, got, want)
		}
	}
}

func TestBreakerReadingHasRoomForTheTimeInEveryState(t *testing.T) {
	var r events.BreakerReading
	if len(r.Spent) != len(events.States())+1 {
		t.Fatalf("Spent has room for %d values, want one for each of %d states and the zero one", len(r.Spent), len(events.States()))
	}
}
