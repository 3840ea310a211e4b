package archtest

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/resilience"
)

// nilable are parameters' types that may be nil, as they are written; pointers and functions are, too.
var nilable = []string{"context.Context", "error", "any", "Event", "Named", "Operation", "Next", "http.RoundTripper", "http.Handler", "resilience.Next"}

// notCalledByUsers are methods of which no nil is expected, and why.
var notCalledByUsers = map[string]string{
	"Admit": "a pipeline calls it, with the call's context", "Settle": "a pipeline calls it, with the call's context", "Wrap next": "a pipeline calls it when it is built",
	"All": "range calls it", "Is": "errors.Is calls it",
	"Begin": "a publisher calls it", "Publish": "a publisher calls it", "Finish": "a publisher calls it", "Put": "a publisher calls it",
	"Deliver": "a publisher calls it", "HandOver": "a publisher calls it", "Guard": "it is deferred around a handler that was given both",
}

var (
	none   context.Context
	bus    = events.NewBus()
	op     = func(context.Context) (int, error) { return 1, nil }
	run    = func(context.Context) error { return nil }
	p      = resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", Bus: bus, Layers: []resilience.Layer{resilience.Timeout{}, resilience.Retry{}}})
	db     = resilience.MustBreaker(resilience.BreakerConfig{Name: "db", Bus: bus})
	room   = resilience.MustBulkhead(resilience.BulkheadConfig{Name: "room", MaxQueue: 1, Bus: bus})
	rate   = resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "rate", Rate: 1, MaxWait: 1e9, Bus: bus})
	load   = resilience.MustAdaptiveLimiter(resilience.AdaptiveLimiterConfig{Name: "load", Bus: bus})
	keys   = resilience.MustKeyed(resilience.KeyedConfig{Name: "keys", Bus: bus, New: func(string) (resilience.Gate, error) { return db, nil }})
	client = httpres.MustTransport(http.DefaultTransport, httpres.Config{Name: "client", Bus: bus})
)

func acquired(_ *resilience.Lease, err error) error { return err }
func valued[T any](_ T, err error) error            { return err }
func fine(...any) error                             { return nil }

// withNil calls everything with nil for each argument that may be: what says is in its error, or in what it panics with; an
// empty one: nil is an argument like others.
func withNil() map[string]nilCall {
	const noContext, noOperation = "the context is nil", "the operation is nil"
	return map[string]nilCall{
		"resilience.Do ctx":                      {noContext, func() error { return valued(resilience.Do(none, op)) }},
		"resilience.Do op":                       {noOperation, func() error { return valued(resilience.Do[int](context.Background(), nil)) }},
		"resilience.Run ctx":                     {noContext, func() error { return resilience.Run(none, run) }},
		"resilience.Run op":                      {noOperation, func() error { return resilience.Run(context.Background(), nil) }},
		"resilience.Pipeline.Do ctx":             {noContext, func() error { return valued(p.Do(none, op)) }},
		"resilience.Pipeline.Do op":              {noOperation, func() error { return valued(p.Do(context.Background(), nil)) }},
		"resilience.Pipeline.DoKey ctx":          {noContext, func() error { return valued(p.DoKey(none, "k", op)) }},
		"resilience.Pipeline.DoKey op":           {noOperation, func() error { return valued(p.DoKey(context.Background(), "k", nil)) }},
		"resilience.Pipeline.Run ctx":            {noContext, func() error { return p.Run(none, run) }},
		"resilience.Pipeline.Run op":             {noOperation, func() error { return p.Run(context.Background(), nil) }},
		"resilience.Pipeline.RunKey ctx":         {noContext, func() error { return p.RunKey(none, "k", run) }},
		"resilience.Pipeline.RunKey op":          {noOperation, func() error { return p.RunKey(context.Background(), "k", nil) }},
		"resilience.Pipeline.Close ctx":          {noContext, closeWhileOneRuns},
		"resilience.Breaker.Run ctx":             {noContext, func() error { return db.Run(none, run) }},
		"resilience.Breaker.Run op":              {noOperation, func() error { return db.Run(context.Background(), nil) }},
		"resilience.Breaker.Acquire ctx":         {noContext, func() error { return acquired(db.Acquire(none)) }},
		"resilience.Bulkhead.Run ctx":            {noContext, func() error { return room.Run(none, run) }},
		"resilience.Bulkhead.Run op":             {noOperation, func() error { return room.Run(context.Background(), nil) }},
		"resilience.Bulkhead.Acquire ctx":        {noContext, func() error { return acquired(room.Acquire(none)) }},
		"resilience.RateLimiter.Run ctx":         {noContext, func() error { return rate.Run(none, run) }},
		"resilience.RateLimiter.Run op":          {noOperation, func() error { return rate.Run(context.Background(), nil) }},
		"resilience.RateLimiter.Acquire ctx":     {noContext, func() error { return acquired(rate.Acquire(none)) }},
		"resilience.AdaptiveLimiter.Run ctx":     {noContext, func() error { return load.Run(none, run) }},
		"resilience.AdaptiveLimiter.Run op":      {noOperation, func() error { return load.Run(context.Background(), nil) }},
		"resilience.AdaptiveLimiter.Acquire ctx": {noContext, func() error { return acquired(load.Acquire(none)) }},
		"resilience.Keyed.RunKey ctx":            {noContext, func() error { return keys.RunKey(none, "k", run) }},
		"resilience.Keyed.RunKey op":             {noOperation, func() error { return keys.RunKey(context.Background(), "k", nil) }},
		"resilience.Keyed.AcquireKey ctx":        {noContext, func() error { return acquired(keys.AcquireKey(none, "k")) }},
		"resilience.Lease.Done err":              {"", func() error { lease, _ := db.Acquire(context.Background()); lease.Done(nil); return nil }},
		"resilience.Lease.Release err":           {"", func() error { lease, _ := db.Acquire(context.Background()); lease.Release(nil); return nil }},
		"resilience.Held.Release err":            {"", func() error { resilience.Held{}.Release(nil); return nil }},
		"resilience.Around f":                    {`Around.f = <nil>: must be a function`, func() error { return built(resilience.Around("a", nil)) }},
		"resilience.FallbackTo to":               {"must be a function", func() error { return built(resilience.FallbackTo[int](nil)) }},
		"resilience.AttemptNumber ctx":           {"", func() error { return fine(resilience.AttemptNumber(none)) }},
		"resilience.CallKey ctx":                 {"", func() error { return fine(resilience.CallKey(none)) }},
		"resilience.WithPriority ctx":            {"nil parent", func() error { return fine(resilience.WithPriority(none, resilience.PriorityLow)) }},
		"resilience.PriorityOf ctx": {"", func() error {
			return fine(resilience.WithPriority(context.Background(), resilience.PriorityLow), resilience.PriorityOf(none))
		}},
		"resilience.IsNotProcessed err":    {"", func() error { return fine(resilience.IsNotProcessed(nil)) }},
		"resilience.IsTransient err":       {"", func() error { return fine(resilience.IsTransient(nil)) }},
		"resilience.KindOf err":            {"", func() error { return fine(resilience.KindOf(nil)) }},
		"resilience.Permanent err":         {"", func() error { return resilience.Permanent(nil) }},
		"resilience.RetryAfter err":        {"", func() error { return resilience.RetryAfter(nil, 1) }},
		"resilience.Lookup r":              {"the registry is nil", func() error { return valued(resilience.Lookup[*resilience.Breaker](nil, "db")) }},
		"resilience.Registry.Register all": {"must be not nil", func() error { return resilience.NewRegistry().Register(nil) }},
		"resilience.Registry.Remove v":     {"", func() error { resilience.NewRegistry().Remove(nil); return nil }},
		"events.AppendJSON e":              {"the event is nil", func() error { return valued(events.AppendJSON(nil, nil)) }},
		"events.AttemptKindsOf pipeline":   {"", func() error { return fine(events.AttemptKindsOf(nil)) }},
		"events.OutcomesOf pipeline":       {"", func() error { return fine(events.OutcomesOf(nil)) }},
		"events.ErrorOf e":                 {"", func() error { return fine(events.ErrorOf(nil)) }},
		"events.ErrorType err":             {"", func() error { return fine(events.ErrorType(nil)) }},
		"events.Fields e":                  {"", func() error { return fine(events.Fields(nil)) }},
		"events.SeverityOf e":              {"", func() error { return fine(events.SeverityOf(nil)) }},
		"events.Nest ctx":                  {"nil parent", func() error { return fine(events.Nest(none)) }},
		"events.Nested ctx":                {"", func() error { return fine(events.Nested(none)) }},
		"events.NewBuffered bus":           {"nil bus", func() error { return fine(events.NewBuffered(nil, 1, func(context.Context, events.Event) {})) }},
		"events.NewBuffered handle":        {"nil handler", func() error { return fine(events.NewBuffered(bus, 1, nil)) }},
		"events.NewTable bus": {"nil bus", func() error {
			return fine(events.NewTable(nil, func(*events.Source) *int { return nil }, func(*events.Source, *int) {}))
		}},
		"events.NewTable open":                 {"nil", func() error { return fine(events.NewTable(bus, nil, func(*events.Source, *int) {})) }},
		"events.NewTable drop":                 {"", func() error { return fine(events.NewTable(bus, func(*events.Source) *int { return nil }, nil)) }},
		"events.Buffered.Close ctx":            {"context is nil", closeBuffered},
		"events.Bus.Remove s":                  {"", func() error { bus.Remove(nil); return nil }},
		"events.Bus.Subscribe handle":          {"nil handler", func() error { return fine(bus.Subscribe(nil)) }},
		"events.ErrorTypes.Of err":             {"", func() error { return fine(new(events.ErrorTypes).Of(nil)) }},
		"events.Interval.Observe start":        {"nil handler", func() error { return fine(bus.Attempt.Observe(nil)) }},
		"events.Interval.SubscribeEnds handle": {"nil handler", func() error { return fine(bus.Attempt.SubscribeEnds(nil)) }},
		"events.Interval.Watch start":          {"nil handler", func() error { return fine(bus.Attempt.Watch(nil)) }},
		"events.Lifetimes.Observe added":       {"nil handler", func() error { return fine(bus.Source.Observe(nil)) }},
		"events.Table.Get s": {"", func() error {
			return fine(events.NewTable(bus, func(*events.Source) *int { return nil }, nil).Get(nil))
		}},
		"events.Topic.Subscribe handle":            {"nil handler", func() error { return fine(bus.TimedOut.Subscribe(nil)) }},
		"events.Topic.SubscribeBuffered handle":    {"nil handler", func() error { return fine(bus.TimedOut.SubscribeBuffered(1, nil)) }},
		"events.Warnings.Subscribe handle":         {"nil handler", func() error { return fine(bus.ConfigWarning.Subscribe(nil)) }},
		"events.Warnings.SubscribeBuffered handle": {"nil handler", func() error { return fine(bus.ConfigWarning.SubscribeBuffered(1, nil)) }},
		"httpres.Host ctx":                         {"", func() error { return fine(httpres.Host(none, resilience.Call{})) }},
		"httpres.IsIdempotent req":                 {"", func() error { return fine(httpres.IsIdempotent(nil)) }},
		"httpres.NewTransport base":                {"", func() error { return valued(httpres.NewTransport(nil, httpres.Config{Name: "c", Bus: bus})) }},
		"httpres.MustTransport base":               {"", func() error { return fine(httpres.MustTransport(nil, httpres.Config{Name: "d", Bus: bus})) }},
		"httpres.Endpoints servers":                {"", func() error { return fine(httpres.Endpoints(nil)(context.Background(), 1)) }},
		"httpres.StandardHedging endpoints":        {"", func() error { return fine(httpres.StandardHedging("h", nil)) }},
		"httpres.WithPipeline ctx":                 {"nil parent", func() error { return fine(httpres.WithPipeline(none, nil)) }},
		"httpres.WithPipeline p":                   {"", func() error { return fine(httpres.WithPipeline(context.Background(), nil)) }},
		"httpres.Transport.RoundTrip req":          {"the request is nil", func() error { _, err := client.RoundTrip(nil); return err }},
		"httpres.Transport.Close ctx":              {"", func() error { return client.Close(none) }}, // nothing to wait for
		"httpres.Middleware.Close ctx":             {"", func() error { return httpres.MustMiddleware(httpres.MiddlewareConfig{Name: "m", Bus: bus}).Close(none) }},
		"httpres.Middleware.Wrap next": {"the handler is nil", func() error {
			return fine(httpres.MustMiddleware(httpres.MiddlewareConfig{Name: "n", Bus: bus}).Wrap(nil))
		}},
	}
}

type nilCall struct {
	says string
	call func() error
}

func built(l resilience.Layer) error {
	return valued(resilience.NewPipeline(resilience.PipelineConfig[int]{Name: "b", Bus: bus, Layers: []resilience.Layer{l}}))
}

// closeWhileOneRuns closes a pipeline that has something to wait for.
func closeWhileOneRuns() error {
	hedged := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "hedged", Bus: bus, Layers: []resilience.Layer{resilience.Hedge{}}})
	release, running := make(chan struct{}), make(chan struct{})
	defer close(release)
	go func() {
		_ = hedged.Run(context.Background(), func(context.Context) error { close(running); <-release; return nil })
	}()
	<-running
	return hedged.Close(none)
}

// closeBuffered closes a subscription whose handler is busy.
func closeBuffered() error {
	release, running := make(chan struct{}), make(chan struct{})
	defer close(release)
	b := bus.TimedOut.SubscribeBuffered(1, func(context.Context, events.TimedOut) { close(running); <-release })
	bus.TimedOut.Publish(context.Background(), events.TimedOut{})
	<-running
	return b.Close(none)
}

// What is given nil by mistake says so, by its name; a nil pointer dereference within does not tell whose mistake it was.
func TestNilArgumentsAreNamed(t *testing.T) {
	rows := withNil()
	for _, param := range nilableParams(t) {
		parts := strings.Split(param, ".")
		method, _, _ := strings.Cut(parts[len(parts)-1], " ")
		_, exempt := notCalledByUsers[method]
		_, exemptParam := notCalledByUsers[strings.Join(strings.Fields(parts[len(parts)-1]), " ")]
		row, ok := rows[param]
		switch {
		case !ok && (exempt || exemptParam):
			continue
		case !ok:
			t.Errorf("%s has no row: what does it say when it is nil?", param)
			continue
		}
		delete(rows, param)
		if said := saidOfNil(row.call); row.says == "" && said != "" || !strings.Contains(said, row.says) || strings.Contains(said, "nil pointer dereference") {
			t.Errorf("%s: %q, want %q", param, said, row.says)
		}
	}
	for param := range rows {
		t.Errorf("%s does not exist", param)
	}
}

// saidOfNil is the call's error, or what it panicked with.
func saidOfNil(call func() error) (said string) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case runtime.Error:
			said = "nil pointer dereference: " + v.Error()
		default:
			said = fmt.Sprint(v)
		}
	}()
	if err := call(); err != nil && !errors.Is(err, context.Canceled) {
		return err.Error()
	}
	return ""
}

// nilableParams lists "package.Receiver.Function parameter" of what users can call with nil.
func nilableParams(t *testing.T) (all []string) {
	for _, pkg := range []string{"resilience", "events", "httpres"} {
		found := 0
		for _, file := range goFiles(t, pkg, false) {
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			if tree.Name.Name != pkg || strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, d := range tree.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !f.Name.IsExported() {
					continue
				}
				name := pkg + "." + f.Name.Name
				if f.Recv != nil {
					of := receiver(f.Recv.List[0].Type)
					if !ast.IsExported(of) {
						continue
					}
					name = pkg + "." + of + "." + f.Name.Name
				}
				for _, field := range f.Type.Params.List {
					for _, n := range field.Names {
						if n.Name != "_" && mayBeNil(field.Type) {
							all, found = append(all, name+" "+n.Name), found+1
						}
					}
				}
			}
		}
		if found < 5 {
			t.Errorf("found only %d parameters in %s", found, pkg)
		}
	}
	slices.Sort(all)
	return all
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func mayBeNil(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StarExpr, *ast.FuncType, *ast.InterfaceType:
		return true
	case *ast.Ellipsis:
		return mayBeNil(e.Elt)
	case *ast.IndexExpr:
		return mayBeNil(e.X)
	case *ast.Ident:
		return slices.Contains(nilable, e.Name)
	case *ast.SelectorExpr:
		x, _ := e.X.(*ast.Ident)
		return slices.Contains(nilable, x.Name+"."+e.Sel.Name)
	}
	return false
}
