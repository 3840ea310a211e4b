package stories_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/telltale-go/telltale/resilience"
)

// A row that does not exist is an answer. Without Classify the retry would ask three times and the breaker would open for a
// database that does its work; with it both see a success, and the caller still gets sql.ErrNoRows.
func Example_errorThatIsAnAnswer() {
	ctx := context.Background()
	db := resilience.MustBreaker(resilience.BreakerConfig{Name: "people-db", ConsecutiveFailures: 1})
	people := resilience.MustPipeline(resilience.PipelineConfig[*user]{
		Name: "people.get",
		Classify: func(_ *user, err error) error {
			if errors.Is(err, sql.ErrNoRows) {
				return resilience.NoFailure
			}
			return err
		},
		Layers: []resilience.Layer{resilience.Retry{Backoff: resilience.NoDelay}, db, resilience.Timeout{}},
	})

	calls := 0
	_, err := people.Do(ctx, func(context.Context) (*user, error) { calls++; return nil, sql.ErrNoRows })

	fmt.Println(err, "after", calls, "call, breaker", db.State())
	// Output: sql: no rows in result set after 1 call, breaker closed
}

// A response can be a failure that comes without an error: a 503 is repeated like one. What is superseded is
// closed by Discard (an io.Closer would need none); the last one is the caller's, with a nil error, as from net/http.
func Example_valueThatIsAFailure() {
	ctx := context.Background()
	pages := resilience.MustPipeline(resilience.PipelineConfig[*http.Response]{
		Name: "pages.get",
		Classify: func(r *http.Response, err error) error {
			if err == nil && r.StatusCode >= 500 {
				return fmt.Errorf("status %d", r.StatusCode)
			}
			return err
		},
		Discard: func(r *http.Response) error { return r.Body.Close() },
		Layers:  []resilience.Layer{resilience.Retry{MaxAttempts: 2, Backoff: resilience.NoDelay}},
	})

	response, err := pages.Do(ctx, func(ctx context.Context) (*http.Response, error) {
		attempt := resilience.AttemptNumber(ctx)
		return &http.Response{StatusCode: 503, Body: body{strings.NewReader("try later"), attempt}}, nil
	})

	fmt.Println(response.StatusCode, err)
	_ = response.Body.Close()
	// Output:
	// body of attempt 1 closed
	// 503 <nil>
	// body of attempt 2 closed
}

type body struct {
	io.Reader
	attempt int
}

func (b body) Close() error {
	fmt.Println("body of attempt", b.attempt, "closed")
	return nil
}
