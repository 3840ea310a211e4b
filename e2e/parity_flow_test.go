package e2e

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/promres"
)

// PROM-04: the same of what hedges, fallbacks, singleflights, budgets, adaptive limiters and disabled breakers tell, and of
// the bus itself, published in a random order.
func TestBothAdaptersShowTheSameOfEveryKindOfEvent(t *testing.T) {
	for seed := range uint64(20) {
		bus := events.NewBus()
		viaOTel, direct := prometheus.NewRegistry(), prometheus.NewRegistry()
		exporter, err := otelprom.New(otelprom.WithRegisterer(viaOTel))
		if err != nil {
			t.Fatal(err)
		}
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
		detachOTel := otelres.MustAttach(bus, otelres.Config{MeterProvider: provider})
		detachProm := promres.MustAttach(bus, promres.Config{Registerer: direct})
		s := newSources(bus)
		s.publish(rand.New(rand.NewPCG(seed, 2)), 300)
		compare(t, seed, exposition(t, viaOTel), exposition(t, direct))
		runtime.KeepAlive(s)
		detachProm()
		detachOTel()
	}
}

// sources are a pipeline with every kind of layer, one with hardly any, and shared states of every kind.
type sources struct {
	bus                             *events.Bus
	all, bare                       *events.Source
	breaker, limiter, budget, other *events.Source
}

func newSources(bus *events.Bus) *sources {
	spec := events.SourceSpec{Pipeline: "all", Type: events.TypePipeline}
	for i, typ := range []string{events.TypeSingleflight, events.TypeFallback, events.TypeHedge, events.TypeRetry, events.TypeBreaker,
		events.TypeAdaptiveLimiter, events.TypeRateLimiter, events.TypeTimeout, events.TypeChaos} {
		spec.Layers = append(spec.Layers, events.SourceSpec{Pipeline: "all", Layer: typ, Type: typ, Position: i, Settings: "some=1"})
	}
	budget := func() events.BudgetReading { return events.BudgetReading{Available: 7, Limit: 50} }
	return &sources{
		bus: bus, all: bus.NewSource(spec),
		bare: bus.NewSource(events.SourceSpec{Pipeline: "bare", Type: events.TypePipeline}),
		breaker: bus.NewSource(events.SourceSpec{Layer: "db", Type: events.TypeBreaker, Breaker: func() events.BreakerReading {
			return events.BreakerReading{State: events.StateDisabled, Spent: [6]time.Duration{events.StateDisabled: 90 * time.Second}}
		}}),
		limiter: bus.NewSource(events.SourceSpec{Layer: "search", Type: events.TypeAdaptiveLimiter, Limiter: func() events.LimiterReading {
			return events.LimiterReading{Limit: 17, Usage: 4, Queued: 1}
		}}),
		budget: bus.NewSource(events.SourceSpec{Layer: "extra", Type: events.TypeRetryBudget, Budget: budget}),
		other:  bus.NewSource(events.SourceSpec{Layer: "extra", Type: events.TypeRetryBudget, Budget: budget}),
	}
}

// publish publishes n events of the kinds that are counted.
func (s *sources) publish(random *rand.Rand, n int) {
	ctx, failed := context.Background(), errors.New("failed")
	of := func(position int) events.Meta {
		return events.Meta{Source: s.all.Layers()[position], Nested: random.IntN(9) == 0}
	}
	for range n {
		var err error
		if random.IntN(2) == 0 {
			err = failed
		}
		switch random.IntN(9) {
		case 0:
			s.bus.HedgeSettled.Publish(ctx, events.HedgeSettled{Meta: of(2), Kind: one(random, events.AttemptKinds()), Err: err})
		case 1:
			s.bus.HedgeDenied.Publish(ctx, events.HedgeDenied{Meta: of(2), Reason: events.ReasonBudget})
		case 2:
			s.bus.FallbackUsed.Publish(ctx, events.FallbackUsed{Meta: of(1), Outcome: one(random, []events.Outcome{events.OutcomeFallback, events.OutcomeFailure}), Cause: failed})
		case 3:
			s.bus.FlightJoined.Publish(ctx, events.FlightJoined{Meta: of(0), Role: one(random, events.FlightRoles())})
		case 4:
			s.bus.RetryStopped.Publish(ctx, events.RetryStopped{Meta: of(3), Reason: one(random, events.StopReasons())})
		case 5:
			t := one(random, events.Transitions())
			s.bus.BreakerStateChanged.Publish(ctx, events.BreakerStateChanged{Meta: events.Meta{Source: s.breaker}, To: t.To, Reason: t.Reason})
		case 6:
			s.bus.CallRejected.Publish(ctx, events.CallRejected{Meta: of(5), Reason: one(random, events.RejectionReasons(events.TypeAdaptiveLimiter))})
		case 7:
			s.bus.CountDropped()
		case 8:
			s.call(random, one(random, []*events.Source{s.all, s.bare}))
		}
	}
}

// call publishes a call with an attempt of any kind and outcome.
func (s *sources) call(random *rand.Rand, pipeline *events.Source) {
	ctx, meta := context.Background(), events.Meta{Source: pipeline}
	var ends events.Ends[events.ExecutionFinished]
	var attempt events.Ends[events.AttemptFinished]
	s.bus.Execution.Begin(ctx, events.ExecutionStarted{Meta: meta}, &ends)
	kind := one(random, events.AttemptKinds())
	s.bus.Attempt.Begin(ctx, events.AttemptStarted{Meta: meta, Kind: kind}, &attempt)
	attempt.Finish(events.AttemptFinished{Meta: meta, Kind: kind, Outcome: one(random, events.AttemptOutcomes()), Duration: 3e6})
	ends.Finish(events.ExecutionFinished{Meta: meta, Outcome: one(random, events.Outcomes()), Attempts: 1, Duration: 4e6})
}

func one[T any](random *rand.Rand, of []T) T { return of[random.IntN(len(of))] }
