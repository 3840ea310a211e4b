package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test's own executable play the pricing service, as the demo's does.
func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == rolePricing {
		os.Exit(servePricing(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// screen is what the demo writes, readable while it runs.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until what the demo writes matches, and returns the groups.
func (s *screen) await(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(10 * time.Millisecond) { // another process writes
		if m := re.FindStringSubmatch(s.String()); m != nil {
			return m
		}
	}
	t.Fatalf("the demo did not write %q; it wrote:\n%s", pattern, s)
	return nil
}

// start runs the demo on a free port; its status comes through the channel.
func start(t *testing.T, ctx context.Context, args ...string) (out, errs *screen, status chan int) {
	t.Helper()
	out, errs, status = new(screen), new(screen), make(chan int, 1)
	go func() { status <- run(ctx, append([]string{"-listen", "127.0.0.1:0"}, args...), out, errs) }()
	return out, errs, status
}

func pidIn(t *testing.T, out *screen) int {
	t.Helper()
	pid, err := strconv.Atoi(out.await(t, `pid (\d+) on`)[1])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, resp.Status, err)
	}
	return string(b)
}

func TestTheIncidentIsSurvivedAndTold(t *testing.T) {
	out, errs, status := start(t, t.Context())
	pid := pidIn(t, out)
	address := out.await(t, `http://(\S+)/metrics`)[1]
	out.await(t, `msg="circuit breaker opened"`)
	metrics, sources := get(t, "http://"+address+"/metrics"), get(t, "http://"+address+"/sources")
	page := get(t, "http://"+address+"/debug/resilience/")
	if s := <-status; s != 0 {
		t.Fatalf("exit status %d: %s\n%s", s, errs, out)
	}
	text := out.String()
	t.Log("\n" + text)
	if alive(pid) {
		t.Error("a pricing service is left")
	}
	for what, pattern := range map[string]string{
		"the breaker's opening":           `closed -> open +ratio +\d+ of \d+`,
		"its recovery":                    `half_open -> closed +probes_ok`,
		"a retry under its execution":     `(?m)^  [├└]─ pricing.get attempt .*kind=retry`,
		"an HTTP span under each attempt": `(?m)pricing.get attempt .*number=1.*\n +│? *└─ HTTP GET`,
	} {
		if !regexp.MustCompile(pattern).MatchString(text) {
			t.Errorf("the report does not show %s (%s)", what, pattern)
		}
	}
	if attempts, spans := strings.Count(text, "pricing.get attempt "), strings.Count(text, "HTTP GET "); attempts != spans {
		t.Errorf("the tree shows %d attempts and %d HTTP spans", attempts, spans)
	}
	bare, telltale := row(t, text, "bare"), row(t, text, "telltale")
	if telltale.success <= bare.success {
		t.Errorf("success: telltale %.1f%%, bare %.1f%%", telltale.success, bare.success)
	}
	if telltale.sent >= bare.sent {
		t.Errorf("load: telltale sent %d, bare %d", telltale.sent, bare.sent)
	}
	if bare.calls != telltale.calls {
		t.Errorf("the clients made %d and %d calls: not the same load", bare.calls, telltale.calls)
	}
	for _, name := range []string{"resilience_executions_total", "resilience_circuit_breaker_state", "resilience_rejections_total"} {
		if !strings.Contains(metrics, name) {
			t.Errorf("/metrics lacks %s", name)
		}
	}
	if !strings.Contains(page, "pricing.get") || !regexp.MustCompile(`circuit breaker: <b>(open|half open)</b>`).MatchString(page) {
		t.Errorf("the console does not show the open breaker:\n%s", page)
	}
	if !regexp.MustCompile(`"state": "(open|half_open)"`).MatchString(sources) {
		t.Errorf("/sources does not show the open breaker:\n%s", sources)
	}
}

type tableRow struct {
	calls, sent int
	success     float64
}

func row(t *testing.T, text, client string) (r tableRow) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^ *` + client + ` +(\d+) +([\d.]+)% +\d+ms +\d+ms +(\d+)`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no row of %s in:\n%s", client, text)
	}
	if _, err := fmt.Sscan(strings.Join(m[1:], " "), &r.calls, &r.success, &r.sent); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnOccupiedPortIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out, errs bytes.Buffer
	if s := run(t.Context(), []string{"-listen", l.Addr().String()}, &out, &errs); s != exitUsage {
		t.Errorf("exit status %d, want %d", s, exitUsage)
	}
	if !strings.Contains(errs.String(), l.Addr().String()) || !strings.Contains(errs.String(), "-listen") {
		t.Errorf("the message names neither the address nor the flag: %s", &errs)
	}
	if strings.Contains(out.String(), "pid") {
		t.Error("a pricing service was started all the same")
	}
}

func TestAnInterruptReportsAndLeavesNoChild(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	out, errs, status := start(t, ctx)
	pid := pidIn(t, out)
	out.await(t, `healthy`)
	interrupt()
	if s := <-status; s != exitInterrupted {
		t.Errorf("exit status %d, want %d: %s", s, exitInterrupted, errs)
	}
	if alive(pid) {
		t.Error("a pricing service is left")
	}
	if !strings.Contains(out.String(), "Both clients") || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("neither a report nor a word of the interruption:\n%s\n%s", out, errs)
	}
}

func TestAServiceThatDiesIsNamed(t *testing.T) {
	out, errs, status := start(t, t.Context())
	pid := pidIn(t, out)
	out.await(t, `healthy`)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if s := <-status; s != exitFailed {
		t.Errorf("exit status %d, want %d", s, exitFailed)
	}
	if !strings.Contains(errs.String(), "the pricing service died: signal: killed") {
		t.Errorf("the message does not tell: %s", errs)
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	for _, args := range [][]string{{"-rate", "0"}, {"-rate", "many"}, {"-speed", "NaN"}, {"-speed", "-1"}, {"-no-such-flag"}, {"now"}, {"-listen", "nowhere:port"}, {"-listen", ""}, {"-listen", ":99999"}} {
		var out, errs bytes.Buffer
		s := run(t.Context(), args, &out, &errs)
		if s == 0 || !strings.Contains(errs.String(), strings.TrimPrefix(args[0], "-")) {
			t.Errorf("%q: exit status %d, %s", args, s, &errs)
		}
	}
}

func TestAnExporterThatCannotBeMadeIsNamed(t *testing.T) {
	t.Setenv(endpointVariable, "http://127.0.0.1:1")
	t.Setenv(protocolVariable, "carrier pigeon")
	var out, errs bytes.Buffer
	if s := run(t.Context(), nil, &out, &errs); s != exitUsage || !strings.Contains(errs.String(), protocolVariable) {
		t.Errorf("exit status %d: %s", s, &errs)
	}
}

func TestAnEndpointThatIsNoURLIsNamed(t *testing.T) {
	t.Setenv(endpointVariable, "127.0.0.1:4318")
	var out, errs bytes.Buffer
	if s := run(t.Context(), nil, &out, &errs); s != exitUsage || !strings.Contains(errs.String(), "must be a URL") {
		t.Errorf("exit status %d: %s", s, &errs)
	}
}
