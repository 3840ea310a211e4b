package resiliencetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// fakeTB is a test that notes its errors instead of failing.
type fakeTB struct {
	testing.TB
	mu     sync.Mutex
	errors []string
}

func (f *fakeTB) Helper() {}

func (f *fakeTB) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}

func (f *fakeTB) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.errors, "\n")
}

// finds checks that a broken layer was found, and what was said of it.
func finds(t *testing.T, what, says string, found *fakeTB) {
	t.Helper()
	if text := found.text(); !strings.Contains(text, says) {
		t.Errorf("%s: the kit says %q, want %q in it", what, text, says)
	}
}
