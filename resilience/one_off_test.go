package resilience_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// oneOffs hears what is told of Do and Run, which are on the default bus.
func oneOffs(t *testing.T) *tape {
	tape := new(tape)
	t.Cleanup(events.Default().Subscribe(func(_ context.Context, e events.Event) {
		if s := e.Header().Source; s != nil && s.Pipeline() == "one_off" {
			tape.mu.Lock()
			defer tape.mu.Unlock()
			tape.all = append(tape.all, e)
		}
	}))
	return tape
}

func TestDoRunsAnOperationThroughLayersOfItsOwn(t *testing.T) {
	db := quietBreaker("db")
	runs := 0
	v, err := resilience.Do(t.Context(), func(context.Context) (string, error) {
		if runs++; runs < 3 {
			return "", errBoom
		}
		return "done", nil
	}, &resilience.Retry{Backoff: resilience.NoDelay}, db, resilience.Timeout{})
	if v != "done" || err != nil || runs != 3 || db.Snapshot().Failures != 0 {
		t.Errorf("%q, %v after %d runs", v, err, runs)
	}
	if err := resilience.Run(t.Context(), fail); err != errBoom {
		t.Errorf("without layers: %v", err)
	}
}

func TestAOneOffWithABadLayerIsAnErrorAndHarmsNoOther(t *testing.T) {
	tape := oneOffs(t)
	for what, call := range map[string]func() error{
		"an option":      func() error { return resilience.Run(t.Context(), succeed, resilience.Retry{MaxAttempts: -5}) },
		"nil":            func() error { return resilience.Run(t.Context(), succeed, nil) },
		"another's type": func() error { return resilience.Run(t.Context(), succeed, typed[int](nil)) },
		"no layer": func() error {
			return resilience.Run(t.Context(), succeed, typed[struct{}](func(resilience.Next[struct{}]) resilience.Next[struct{}] { return nil }))
		},
		"no operation": func() error { return resilience.Run(t.Context(), nil) },
		"no value":     func() error { _, err := resilience.Do[int](t.Context(), nil); return err },
	} {
		if err := call(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if gone := heard[events.SourceRemoved](tape); len(gone) != 0 {
		t.Error("the source of all one-offs was removed")
	}
	if err := resilience.Run(t.Context(), succeed); err != nil || len(heard[events.ExecutionFinished](tape)) != 1 {
		t.Errorf("the next: %v, %d finished", err, len(heard[events.ExecutionFinished](tape)))
	}
}

// PIPE-23, BUS-10: they make no source per call; one layer of each type stands for all.
func TestOneOffsShareOneSource(t *testing.T) {
	tape := oneOffs(t)
	gate := &counting{refuse: resilience.Reject(events.ReasonRate, 0)}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			resilience.Run(t.Context(), fail, resilience.Retry{Name: "mine", MaxAttempts: 1})
			resilience.Run(t.Context(), succeed, gate)
		})
	}
	all.Wait()
	sources, layers := map[*events.Source]bool{}, map[string]bool{}
	for _, e := range heard[events.ExecutionFinished](tape) {
		sources[e.Source] = true
		layers[e.Layer.Layer()] = true
	}
	if len(sources) != 1 || len(layers) != 2 || !layers["retry"] || !layers["custom"] {
		t.Errorf("sources %v, layers that decided %v", sources, layers)
	}
	live := 0
	for _, s := range events.Default().Sources() {
		if s.Pipeline() == "one_off" {
			live++
		}
	}
	if live != 1 {
		t.Errorf("%d live sources", live)
	}
}

// The errors name the layer as the caller did.
func TestAOneOffsErrorsNameItsLayers(t *testing.T) {
	var limited *resilience.LimitedError
	err := resilience.Run(t.Context(), succeed, &counting{name: "mine", refuse: resilience.Reject(events.ReasonFull, 0)})
	if !errors.As(err, &limited) || limited.Layer != "mine" {
		t.Errorf("got %v", err)
	}
	var timeout *resilience.TimeoutError
	err = resilience.Run(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, resilience.Timeout{Name: "short", After: 1})
	if !errors.As(err, &timeout) || timeout.Layer != "short" {
		t.Errorf("got %v", err)
	}
}
