package slogres

import (
	"context"
	"log/slog"

	"github.com/telltale-go/telltale/events"
)

// record makes the record of an event. It has no program counter: where the event came about is no place in the user's
// code.
func (c Config) record(ctx context.Context, level slog.Level, e events.Event) slog.Record {
	m := e.Header()
	fields := events.Fields(e)
	attrs := make([]slog.Attr, 0, len(fields)+4)
	for _, f := range fields {
		attrs = append(attrs, attr(f))
	}
	if c.Keys && m.Key != "" {
		attrs = append(attrs, slog.String(KeyCallKey, m.Key))
	}
	if c.ErrorText {
		if err := events.ErrorOf(e); err != nil {
			attrs = append(attrs, slog.String(KeyError, err.Error()))
		}
	}
	if c.Trace != nil {
		if traceID, spanID, ok := c.Trace(ctx); ok {
			attrs = append(attrs, slog.String(KeyTraceID, traceID), slog.String(KeySpanID, spanID))
		}
	}
	r := slog.NewRecord(m.At, level, message(e), 0)
	r.AddAttrs(attrs...)
	return r
}

func attr(f events.Field) slog.Attr {
	switch v := f.Value.(type) {
	case string:
		return slog.String(f.Key, v)
	case int64:
		return slog.Int64(f.Key, v)
	case float64:
		return slog.Float64(f.Key, v)
	}
	return slog.Any(f.Key, f.Value)
}
