//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// asCommand is a variable of the environment that makes the test's binary the command.
const asCommand = "BROKER_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The command runs as a process of its own and is killed in the middle of a batch, twice, while it places orders.
func TestAKilledProcessLosesNothing(t *testing.T) {
	s := newSite(t, production(20))
	s.place(t, 150) // so that the first batches are full ones
	var published atomic.Int64
	heard := make(chan struct{}, 100_000)
	if _, err := s.conn.Subscribe(orderPlaced, func(*nats.Msg) { published.Add(1); heard <- struct{}{} }); err != nil {
		t.Fatal(err)
	}

	var promised []string // orders that a process said it had placed
	for kill := range 2 {
		p := start(t, s, "-orders", "200")
		await(t, heard, 70)
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		promised = append(promised, p.wait(t)...)
		if n := s.count(t, `attempts > 0`); n == 0 {
			t.Errorf("kill %d: no message was leased, so the process was not in the middle of a batch", kill)
		}
	}
	last := start(t, s)
	for deadline := time.Now().Add(time.Minute); s.count(t, `true`) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d messages are still in the outbox", s.count(t, `true`))
		}
	}
	if err := last.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	last.wait(t)
	if !last.cmd.ProcessState.Success() {
		t.Errorf("asked to end, the process ended with %v", last.cmd.ProcessState)
	}

	sent := s.orders(t)
	var placed int
	if err := s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM orders`).Scan(&placed); err != nil {
		t.Fatal(err)
	}
	if placed < 150 || len(sent) != placed {
		t.Errorf("%d orders were placed, and %d are in the stream", placed, len(sent))
	}
	for _, order := range promised {
		if sent[order] != 1 {
			t.Errorf("order %s was placed and is in the stream %d times, want once", order, sent[order])
		}
	}
	for order, n := range sent {
		if n != 1 {
			t.Errorf("order %s is in the stream %d times, want once", order, n)
		}
	}
	t.Logf("%d orders, of which %d were promised; published %d times", placed, len(promised), published.Load())
}

type process struct {
	cmd    *exec.Cmd
	placed chan []string
}

// start starts the relay as a process. Its leases end soon.
func start(t *testing.T, s *site, args ...string) *process {
	t.Helper()
	args = append([]string{"-nats", s.broker.ClientURL(), "-db", s.file, "-lease", "500ms", "-every", "10ms", "-batch", "100"}, args...)
	p := &process{exec.Command(os.Args[0], args...), make(chan []string, 1)}
	p.cmd.Env = append(os.Environ(), asCommand+"=1")
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() {
		var placed []string
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if order, ok := strings.CutPrefix(lines.Text(), "placed "); ok {
				placed = append(placed, order)
			}
		}
		p.placed <- placed
	}()
	return p
}

// wait waits for the end of the process and returns the orders that it said it had placed.
func (p *process) wait(t *testing.T) []string {
	t.Helper()
	placed := <-p.placed
	_ = p.cmd.Wait() // that it was killed is no news
	return placed
}

func await(t *testing.T, heard <-chan struct{}, n int) {
	t.Helper()
	late := time.After(time.Minute)
	for range n {
		select {
		case <-heard:
		case <-late:
			t.Fatal("the broker hears of no messages")
		}
	}
}

// orders returns how often each order is in the stream.
func (s *site) orders(t *testing.T) map[string]int {
	t.Helper()
	found := map[string]int{}
	for seq := uint64(1); seq <= s.stored(t); seq++ {
		m, err := s.stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		var order struct{ Order int64 }
		if err := json.Unmarshal(m.Data, &order); err != nil {
			t.Fatal(err)
		}
		found[fmt.Sprint(order.Order)]++
	}
	return found
}
