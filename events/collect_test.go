package events_test

import (
	"runtime"
	"testing"
	"time"
)

// collect runs the garbage collector until done says that something was collected.
func collect(t *testing.T, done <-chan struct{}) {
	t.Helper()
	giveUp := time.After(10 * time.Second)
	for {
		runtime.GC()
		select {
		case <-done:
			return
		case <-giveUp:
			t.Fatal("not collected")
		default:
			runtime.Gosched()
		}
	}
}
