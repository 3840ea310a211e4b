package events

import "context"

// Severity tells how much an event matters to whoever reads it.
type Severity uint8

const (
	SeverityDebug Severity = 1 + iota
	SeverityInfo
	SeverityWarn
	SeverityError
)

var severityNames = []string{"", "debug", "info", "warn", "error"}

// String returns the severity's name.
func (s Severity) String() string { return enumName("Severity", severityNames, s) }

// MarshalText implements encoding.TextMarshaler.
func (s Severity) MarshalText() ([]byte, error) { return enumText("Severity", severityNames, s) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Severity) UnmarshalText(text []byte) error {
	return enumParse("Severity", severityNames, s, text)
}

// Entry describes one type of event in the [Catalogue].
type Entry struct {
	Name string // the event's name
	Doc  string // what it tells, in a line
	Zero Event  // the zero value of its type

	// subscribe hears this kind; nil for the ends of intervals, which their starts bring along.
	subscribe func(*Bus, func(context.Context, Event)) (cancel func())
}

// Catalogue lists every kind of event: it is the one list that documentation, logs, JSON and tests are made from.
func Catalogue() []Entry { return append([]Entry(nil), catalogue...) }

var catalogue = []Entry{
	startOf("a call of a pipeline begins", func(b *Bus) *Interval[ExecutionStarted, ExecutionFinished] { return &b.Execution }),
	endOf[ExecutionFinished]("a call of a pipeline has ended: how, why, and where its time went"),
	startOf("the operation is about to run", func(b *Bus) *Interval[AttemptStarted, AttemptFinished] { return &b.Attempt }),
	endOf[AttemptFinished]("the operation has ended"),
	kindOf("an attempt failed and another is due after a delay", func(b *Bus) *Topic[RetryScheduled] { return &b.RetryScheduled }),
	kindOf("a retry ends without success", func(b *Bus) *Topic[RetryStopped] { return &b.RetryStopped }),
	kindOf("a layer refused a call", func(b *Bus) *Topic[CallRejected] { return &b.CallRejected }),
	kindOf("a timeout's limit passed before the operation returned", func(b *Bus) *Topic[TimedOut] { return &b.TimedOut }),
	kindOf("a result came when nobody counts on it any more", func(b *Bus) *Topic[LateResult] { return &b.LateResult }),
	kindOf("a circuit breaker went from one state to another", func(b *Bus) *Topic[BreakerStateChanged] { return &b.BreakerStateChanged }),
	kindOf("the operation is started once more, beside the runs that have not answered yet", func(b *Bus) *Topic[HedgeStarted] { return &b.HedgeStarted }),
	kindOf("a call that a hedge started has its outcome", func(b *Bus) *Topic[HedgeSettled] { return &b.HedgeSettled }),
	kindOf("a hedge was due, and its budget had nothing left", func(b *Bus) *Topic[HedgeDenied] { return &b.HedgeDenied }),
	kindOf("a fallback answered instead of what is inside it", func(b *Bus) *Topic[FallbackUsed] { return &b.FallbackUsed }),
	kindOf("a call with a key leads or follows in a singleflight", func(b *Bus) *Topic[FlightJoined] { return &b.FlightJoined }),
	kindOf("a limiter has another limit than before", func(b *Bus) *Topic[LimitChanged] { return &b.LimitChanged }),
	kindOf("the state of a key that nobody used was dropped", func(b *Bus) *Topic[KeyEvicted] { return &b.KeyEvicted }),
	kindOf("a circuit breaker in shadow mode would have refused a call", func(b *Bus) *Topic[ShadowRejected] { return &b.ShadowRejected }),
	kindOf("a call was disturbed on purpose", func(b *Bus) *Topic[FaultInjected] { return &b.FaultInjected }),
	kindOf("a superseded value could not be discarded cleanly", func(b *Bus) *Topic[DiscardFailed] { return &b.DiscardFailed }),
	kindOf("a function that a layer calls panicked", func(b *Bus) *Topic[CallbackPanicked] { return &b.CallbackPanicked }),
	kindOf("a subscriber panicked", func(b *Bus) *Topic[HandlerPanicked] { return &b.HandlerPanicked }),
	{Name: SourceAdded{}.EventName(), Doc: "a pipeline or a shared layer was made", Zero: SourceAdded{},
		subscribe: func(b *Bus, h func(context.Context, Event)) func() {
			return b.Source.Observe(func(ctx context.Context, e SourceAdded) func(context.Context, SourceRemoved) {
				h(ctx, e)
				return func(ctx context.Context, e SourceRemoved) { h(ctx, e) }
			})
		}},
	endOf[SourceRemoved]("a pipeline or a shared layer was closed or dropped"),
	{Name: ConfigWarning{}.EventName(), Doc: "what was built can work, but hardly as it was meant", Zero: ConfigWarning{}, // behind the sources that it is of
		subscribe: func(b *Bus, h func(context.Context, Event)) func() {
			return b.ConfigWarning.Subscribe(func(ctx context.Context, e ConfigWarning) { h(ctx, e) })
		}},
}

func kindOf[E Event](doc string, topic func(*Bus) *Topic[E]) Entry {
	var zero E
	return Entry{zero.EventName(), doc, zero, func(b *Bus, h func(context.Context, Event)) func() {
		return topic(b).Subscribe(func(ctx context.Context, e E) { h(ctx, e) })
	}}
}

func startOf[S, F Event](doc string, interval func(*Bus) *Interval[S, F]) Entry {
	var zero S
	return Entry{zero.EventName(), doc, zero, func(b *Bus, h func(context.Context, Event)) func() {
		return interval(b).Watch(func(ctx context.Context, s S) func(F) {
			h(ctx, s)
			return func(f F) { h(ctx, f) }
		})
	}}
}

func endOf[F Event](doc string) Entry {
	var zero F
	return Entry{Name: zero.EventName(), Doc: doc, Zero: zero}
}

// SeverityOf tells how much an event matters; [SeverityDebug] for a type that is not in the catalogue. A failure that a
// retry may still mend is no warning: that is the failed execution.
func SeverityOf(e Event) Severity {
	switch e := e.(type) {
	case BreakerStateChanged:
		if e.To == StateOpen || e.To == StateForcedOpen {
			return SeverityWarn
		}
		return SeverityInfo
	case ExecutionFinished:
		switch e.Outcome {
		case OutcomeFailure, OutcomeTimeout, OutcomeRejected:
			return SeverityWarn
		case OutcomeSuccess, OutcomeFallback, OutcomeCanceled:
		}
		return SeverityDebug
	case TimedOut, DiscardFailed, FallbackUsed, FaultInjected, ConfigWarning:
		return SeverityWarn
	case LimitChanged:
		return SeverityInfo
	case CallbackPanicked, HandlerPanicked:
		return SeverityError
	case ExecutionStarted, AttemptStarted, AttemptFinished, RetryScheduled, RetryStopped, CallRejected, LateResult,
		HedgeStarted, HedgeSettled, HedgeDenied, FlightJoined, KeyEvicted, ShadowRejected,
		SourceAdded, SourceRemoved:
	}
	return SeverityDebug
}
