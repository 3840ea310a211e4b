package browser

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/telltale-go/telltale/dashboards/console"
	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// service is a process that calls another, which can be down, and shows its console.
type service struct {
	t       *testing.T
	bus     *events.Bus
	breaker *resilience.Breaker
	down    atomic.Bool
	calls   []func(context.Context) error

	address string
	console *console.Console
	server  *http.Server
}

var errDown = errors.New("secret-text-of-an-error")

// startService builds two pipelines that share a breaker, and one that goes well, and begins to call.
func startService(t *testing.T) *service {
	t.Helper()
	s := &service{t: t, bus: events.NewBus(), address: "127.0.0.1:0"}
	s.breaker = resilience.MustBreaker(resilience.BreakerConfig{Name: "payments-db", FailureRatio: 0.5, MinCalls: 10,
		Window: 2 * time.Second, Cooldown: 2 * time.Second, Bus: s.bus})
	bulkhead := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "db-calls", MaxConcurrent: 20, Bus: s.bus})
	limiter := resilience.MustRateLimiter(resilience.RateLimiterConfig{Name: "search-api", Rate: 30, Bus: s.bus})
	read := pipeline(s.bus, "users.get", bulkhead, resilience.Timeout{Name: "total", After: 2 * time.Second},
		resilience.Retry{MaxAttempts: 3, Backoff: resilience.Exponential{Base: 5 * time.Millisecond}}, s.breaker,
		resilience.Timeout{Name: "attempt", After: 500 * time.Millisecond})
	write := pipeline(s.bus, "users.put", resilience.Timeout{After: time.Second}, s.breaker)
	search := pipeline(s.bus, "search", limiter, resilience.Hedge{Delay: 40 * time.Millisecond}, resilience.Timeout{After: time.Second})
	db := func(took time.Duration) func(context.Context) (int, error) {
		return func(context.Context) (int, error) {
			if s.down.Load() {
				return 0, errDown
			}
			time.Sleep(took)
			return 1, nil
		}
	}
	s.calls = []func(context.Context) error{
		func(ctx context.Context) error {
			_, err := read.DoKey(ctx, "secret-key-of-a-call", db(3*time.Millisecond))
			return err
		},
		func(ctx context.Context) error { _, err := write.Do(ctx, db(6*time.Millisecond)); return err },
		func(ctx context.Context) error {
			_, err := search.Do(ctx, func(context.Context) (int, error) { time.Sleep(12 * time.Millisecond); return 1, nil })
			return err
		},
	}
	s.load()
	s.serve()
	return s
}

func pipeline(bus *events.Bus, name string, layers ...resilience.Layer) *resilience.Pipeline[int] {
	return resilience.MustPipeline(resilience.PipelineConfig[int]{Name: name, Layers: layers, Bus: bus})
}

// load calls until the test ends.
func (s *service) load() {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, call := range s.calls {
		running.Go(func() {
			for ctx.Err() == nil {
				_ = call(ctx)
				time.Sleep(25 * time.Millisecond)
			}
		})
	}
	s.t.Cleanup(func() { stop(); running.Wait() })
}

// serve starts the server: on a free port at first, later on the same. The console is a new one, as after a restart.
func (s *service) serve() {
	s.t.Helper()
	var listener net.Listener
	var err error
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(50 * time.Millisecond) { // the port may be busy still
		if listener, err = net.Listen("tcp", s.address); err == nil {
			break
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.address = listener.Addr().String()
	if s.console, err = console.New(s.bus, console.Config{History: time.Minute}); err != nil {
		s.t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/resilience/", s.console)
	s.server = &http.Server{Handler: mux}
	go func() { _ = s.server.Serve(listener) }()
	s.t.Cleanup(s.stop)
}

// stop ends the server with everything that is open. It may be called again.
func (s *service) stop() {
	_ = s.server.Close()
	if err := s.console.Close(context.Background()); err != nil {
		s.t.Error(err)
	}
}

func (s *service) url() string { return "http://" + s.address + "/debug/resilience/" }
