// Package told tells of warnings that the clients of HTTP and gRPC see in their calls.
package told

import (
	"context"
	"time"

	"github.com/telltale-go/telltale/events"
)

// Warning publishes a warning about a pipeline; the source is nil if the pipeline has left the bus.
func Warning(ctx context.Context, bus *events.Bus, pipeline, code, message string) {
	bus.ConfigWarning.Publish(ctx, events.ConfigWarning{
		Meta: events.Meta{Source: sourceOf(bus, pipeline), At: time.Now()}, Code: code, Message: message,
	})
}

func sourceOf(bus *events.Bus, pipeline string) *events.Source {
	for _, s := range bus.Sources() {
		if s.Pipeline() == pipeline && s.Layer() == "" {
			return s
		}
	}
	return nil
}
