package stories_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/httpres"
	"github.com/telltale-go/telltale/otelres"
	"github.com/telltale-go/telltale/promres"
	"github.com/telltale-go/telltale/resilience"
	"github.com/telltale-go/telltale/slogres"
)

// The snippets of the README and of docs/warnings.md, as they stand there: internal/archtest compares them.

type User struct{ Name string }

// repository is one whose first answer is that the connection broke.
type repository struct{ calls int }

func (r *repository) User(context.Context, string) (*User, error) {
	if r.calls++; r.calls == 1 {
		return nil, syscall.ECONNRESET
	}
	return &User{"Ada"}, nil
}

func TestReadmeReadsAUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, id, repo := t.Context(), "42", &repository{}

		db := resilience.MustBreaker(resilience.BreakerConfig{Name: "payments-db", FailureRatio: 0.5, Cooldown: 5 * time.Second})

		users := resilience.MustPipeline(resilience.PipelineConfig[*User]{
			Name: "users.get",
			Layers: []resilience.Layer{ // outermost first
				resilience.Timeout{After: 2 * time.Second}, // the whole call
				resilience.Retry{MaxAttempts: 3, Backoff: resilience.Exponential{Base: 50 * time.Millisecond}},
				db, // shared: the pointer is the state
				resilience.Timeout{After: 500 * time.Millisecond}, // each attempt
			},
		})

		user, err := users.Do(ctx, func(ctx context.Context) (*User, error) { return repo.User(ctx, id) })

		if err != nil || user.Name != "Ada" || repo.calls != 2 || db.State() != events.StateClosed {
			t.Errorf("%v, %v after %d calls, the breaker is %v", user, err, repo.calls, db.State())
		}
	})
}

func TestGuideOnWarningsInsistsOnNone(t *testing.T) {
	bus := events.NewBus()
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "users-db", Bus: bus})
	users := resilience.MustPipeline(resilience.PipelineConfig[*User]{
		Name: "users.find", Layers: []resilience.Layer{resilience.Retry{}, db, resilience.Timeout{}}, Bus: bus,
	})

	if w := users.Warnings(); len(w) > 0 {
		t.Errorf("%+v", w)
	}
}

func TestReadmeMakesAClientResilient(t *testing.T) {
	layers := []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}, resilience.Timeout{}}

	transport := httpres.MustTransport(http.DefaultTransport, httpres.Config{Name: "pricing", Layers: layers})
	client := &http.Client{Transport: transport}

	if _, err := client.Get("http://127.0.0.1:0"); err == nil { // no port to connect to
		t.Error("answered")
	}
}

func TestReadmeListens(t *testing.T) {
	var opened atomic.Int64
	func() {
		defer otelres.MustAttach(events.Default(), otelres.Config{})()
		defer promres.MustAttach(events.Default(), promres.Config{})()
		defer slogres.MustAttach(events.Default(), slogres.Config{Trace: otelres.TraceIDs})()

		stop := events.Default().BreakerStateChanged.Subscribe(func(ctx context.Context, e events.BreakerStateChanged) {
			opened.Add(1) // runs inside the call: count, and leave slow work to SubscribeBuffered
		})
		defer stop()

		pages := resilience.MustBreaker(resilience.BreakerConfig{Name: "pages", ConsecutiveFailures: 1})
		if err := pages.Run(context.Background(), (&remote{down: 1}).ping); err == nil {
			t.Error("succeeded")
		}
	}()
	if opened.Load() != 1 {
		t.Errorf("%d openings were heard, want 1", opened.Load())
	}
}
