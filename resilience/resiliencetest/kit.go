package resiliencetest

import (
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// kit runs checks and reports what they find.
type kit struct {
	t  *testing.T // for bubbles
	to testing.TB // what the findings go to: t, but for tests of the kit itself
}

func (k kit) errorf(format string, args ...any) {
	k.to.Helper()
	k.to.Errorf(format, args...)
}

// guarded calls f; a panic is a finding.
func (k kit) guarded(f func()) {
	defer func() {
		if v := recover(); v != nil {
			k.errorf("the layer panicked: %v\n%s", v, stack())
		}
	}()
	f()
}

// bubble calls f in a synctest bubble. What is still blocked when f has returned is a finding.
func (k kit) bubble(f func()) {
	defer func() {
		if v := recover(); v != nil {
			k.errorf("a goroutine stays blocked for ever: %v", v)
		}
	}()
	synctest.Test(k.t, func(*testing.T) { k.guarded(f) })
}

// apart calls f on a goroutine of its own, and returns what it panicked with, and whether it returned.
func apart(f func()) (panicked any, returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { panicked = recover() }()
		f()
		returned = true
	}()
	<-done
	return panicked, returned
}

func stack() string {
	buf := make([]byte, 4096)
	return string(buf[:runtime.Stack(buf, false)])
}

var lastLabel atomic.Int64

const labelName = "resiliencetest"

// leaves calls f and returns the stacks of the goroutines that it started and that do not end within a second or so.
func leaves(f func()) string {
	label := strconv.FormatInt(lastLabel.Add(1), 10)
	pprof.Do(context.Background(), pprof.Labels(labelName, label), func(context.Context) { f() })
	for i := 0; ; i++ {
		left := labeled(label)
		if left == "" || i == 200 {
			return left
		}
		if i < 100 {
			runtime.Gosched()
		} else {
			time.Sleep(10 * time.Millisecond) // of a goroutine that is left behind, or a very slow machine
		}
	}
}

// labeled returns the stacks of the goroutines with a label: goroutines have those of who started them.
func labeled(label string) string {
	var profile, some strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return ""
	}
	for group := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(group, fmt.Sprintf("%q:%q", labelName, label)) {
			some.WriteString(group + "\n")
		}
	}
	return some.String()
}
