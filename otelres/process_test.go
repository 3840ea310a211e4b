package otelres_test

import (
	"os"
	"os/exec"
	"testing"
)

// inOwnProcess runs the test in a process of its own, where it may set OpenTelemetry's globals: only the first time counts.
// It returns false in the process that started it.
func inOwnProcess(t *testing.T) bool {
	const variable = "OTELRES_TEST_IN_OWN_PROCESS"
	if os.Getenv(variable) == t.Name() {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}
