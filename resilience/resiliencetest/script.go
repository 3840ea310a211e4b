package resiliencetest

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Step is what one run of a scripted operation does. The zero value succeeds with the zero value.
type Step[T any] struct {
	does  func(ctx context.Context) (T, error)
	after time.Duration
	times int
}

// Does runs a function.
func Does[T any](f func(ctx context.Context) (T, error)) Step[T] { return Step[T]{does: f, times: 1} }

// Returns succeeds with a value.
func Returns[T any](v T) Step[T] {
	return Does(func(context.Context) (T, error) { return v, nil })
}

// Fails returns an error.
func Fails[T any](err error) Step[T] {
	return Does(func(context.Context) (v T, _ error) { return v, err })
}

// Hangs returns only when its context ends, with the context's error.
func Hangs[T any]() Step[T] {
	return Does(func(ctx context.Context) (v T, _ error) {
		<-ctx.Done()
		return v, ctx.Err()
	})
}

// Panics panics with a value.
func Panics[T any](value any) Step[T] {
	return Does(func(context.Context) (T, error) { panic(value) })
}

// Goexits ends its goroutine with runtime.Goexit, as t.FailNow does.
func Goexits[T any]() Step[T] {
	return Does(func(context.Context) (v T, _ error) {
		runtime.Goexit()
		return v, nil
	})
}

// After has the step wait first, whatever becomes of its context: Returns(v).After(time.Minute) is a success that may come
// too late.
func (s Step[T]) After(d time.Duration) Step[T] {
	s.after = d
	return s
}

// Times repeats the step for n runs, at least one.
func (s Step[T]) Times(n int) Step[T] {
	s.times = max(n, 1)
	return s
}

// Scripted is an operation that does in each run what its script says, and counts. Make one with [Script]. It is safe for
// concurrent use: which of the runs that begin at once gets which step is not defined, each step is taken once.
type Scripted[T any] struct {
	steps []Step[T]

	mu                  sync.Mutex // guards what follows
	runs, running, most int
}

// Script returns an operation that does one step after another, and the last one for ever. Without steps it succeeds with
// the zero value.
//
//	op := resiliencetest.Script(resiliencetest.Fails[int](errDown).Times(2), resiliencetest.Returns(42))
//	v, err := pipeline.Do(ctx, op.Do)
func Script[T any](steps ...Step[T]) *Scripted[T] {
	if len(steps) == 0 {
		steps = []Step[T]{{}}
	}
	return &Scripted[T]{steps: slices.Clone(steps)}
}

// Do is the operation.
func (s *Scripted[T]) Do(ctx context.Context) (T, error) {
	step := s.begin()
	defer s.end()
	if step.after > 0 {
		time.Sleep(step.after)
	}
	if step.does == nil {
		var zero T
		return zero, nil
	}
	return step.does(ctx)
}

// Run is Do for operations that return an error only.
func (s *Scripted[T]) Run(ctx context.Context) error {
	_, err := s.Do(ctx)
	return err
}

func (s *Scripted[T]) begin() Step[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	step := s.next()
	s.runs++
	s.running++
	s.most = max(s.most, s.running)
	return step
}

// next returns the step of the run that begins. mu is held.
func (s *Scripted[T]) next() Step[T] {
	n := s.runs
	for _, step := range s.steps {
		if n < max(step.times, 1) {
			return step
		}
		n -= max(step.times, 1)
	}
	return s.steps[len(s.steps)-1]
}

func (s *Scripted[T]) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
}

// Runs returns how many runs began.
func (s *Scripted[T]) Runs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs
}

// Running returns how many run now.
func (s *Scripted[T]) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// MostAtOnce returns how many ran at once at most.
func (s *Scripted[T]) MostAtOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}
