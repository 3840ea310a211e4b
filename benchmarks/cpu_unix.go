//go:build unix

package main

import (
	"syscall"
	"time"
)

// processTime is the time that the process has used so far, its own and the system's for it.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
