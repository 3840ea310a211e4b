package slogres

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/telltale-go/telltale/events"
)

// recorder is a handler that keeps what it gets.
type recorder struct {
	min slog.Level
	do  func(context.Context, slog.Record) error // called for each record; nil: nothing

	mu      sync.Mutex
	records []slog.Record
	ctxs    []context.Context
}

func debugRecorder() *recorder { return &recorder{min: slog.LevelDebug} }

func (r *recorder) Enabled(_ context.Context, l slog.Level) bool { return l >= r.min }
func (r *recorder) WithAttrs([]slog.Attr) slog.Handler           { return r }
func (r *recorder) WithGroup(string) slog.Handler                { return r }

func (r *recorder) Handle(ctx context.Context, rec slog.Record) error {
	r.mu.Lock()
	r.records = append(r.records, rec)
	r.ctxs = append(r.ctxs, ctx)
	r.mu.Unlock()
	if r.do != nil {
		return r.do(ctx, rec)
	}
	return nil
}

func (r *recorder) all() []slog.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.records)
}

func (r *recorder) messages() []string {
	var all []string
	for _, rec := range r.all() {
		all = append(all, rec.Message)
	}
	return all
}

// of returns the records of one kind of event.
func (r *recorder) of(name string) []slog.Record {
	var all []slog.Record
	for _, rec := range r.all() {
		if attrsOf(rec)[events.KeyEventName] == name {
			all = append(all, rec)
		}
	}
	return all
}

func (r *recorder) atLevel(l slog.Level) []slog.Record {
	var all []slog.Record
	for _, rec := range r.all() {
		if rec.Level == l {
			all = append(all, rec)
		}
	}
	return all
}

func attrsOf(r slog.Record) map[string]any {
	m := map[string]any{}
	r.Attrs(func(a slog.Attr) bool {
		m[a.Key] = a.Value.Any()
		return true
	})
	return m
}
