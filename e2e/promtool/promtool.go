// Package promtool has Prometheus's own tool look at what we expose and ship.
package promtool

import (
	"bytes"
	"os/exec"
	"testing"
)

// Run runs promtool with these arguments and returns what it said. The test fails if promtool objects, and is skipped where
// there is none.
//
//	promtool.Run(t, scraped, "check", "metrics")
//	promtool.Run(t, nil, "check", "config", "prometheus.yml")
func Run(t testing.TB, stdin []byte, args ...string) (said string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("there is no promtool on the PATH, so it cannot be asked; on Debian: apt-get install --no-install-recommends prometheus")
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("promtool %q: %v\n%s", args, err, out)
	}
	return string(out)
}
