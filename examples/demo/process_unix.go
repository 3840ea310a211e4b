//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// setProcessGroup keeps a terminal's Ctrl-C from the child: the demo stops it when it has reported.
func setProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
