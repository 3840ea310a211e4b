package stories_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// stream is a value that lives on after the call that opened it.
type stream struct{ held resilience.Held }

func (s *stream) Close() error {
	s.held.Release(nil)
	return nil
}

// A backup server takes two streams at a time. The call that opens a stream is over in a moment, the stream goes on:
// with Hold the bulkhead keeps the permit, and the timeout the context, until the stream is closed.
func Example_streamThatHoldsItsPermit() {
	ctx := context.Background()
	streams := resilience.MustPipeline(resilience.PipelineConfig[*stream]{
		Name: "backup.open",
		Hold: func(s *stream, held resilience.Held) *stream {
			s.held = held
			return s
		},
		Layers: []resilience.Layer{
			resilience.MustBulkhead(resilience.BulkheadConfig{Name: "backup", MaxConcurrent: 2}),
			resilience.Timeout{After: time.Hour},
		},
	})
	var contexts []context.Context
	open := func() (*stream, error) {
		return streams.Do(ctx, func(ctx context.Context) (*stream, error) {
			contexts = append(contexts, ctx)
			return &stream{}, nil
		})
	}

	first, _ := open()
	second, _ := open()
	_, err := open()
	fmt.Println("third refused:", errors.Is(err, resilience.ErrLimited), "first still runs:", contexts[0].Err() == nil)

	_ = first.Close()
	third, err := open()
	fmt.Println("third:", err, "first still runs:", contexts[0].Err() == nil)
	_, _ = second.Close(), third.Close()
	// Output:
	// third refused: true first still runs: true
	// third: <nil> first still runs: false
}
