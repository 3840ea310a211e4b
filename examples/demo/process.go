package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// pricing is the pricing service's process, as the demo sees it. One goroutine uses it.
type pricing struct {
	address string     // the same after a restart
	died    chan error // the process ended although nobody killed it

	control http.Client
	process *process // nil: not running
}

type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *tail
	ended  chan struct{} // closed when the process is gone
	mu     sync.Mutex
	killed bool
}

func startPricing(ctx context.Context) (*pricing, error) {
	p := &pricing{died: make(chan error, 1), control: http.Client{Timeout: 5 * time.Second}}
	if err := p.start(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// start starts the process: on a free port at first, later on the same.
func (p *pricing) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("starting the pricing service: %w", err)
	}
	var args []string
	if p.address != "" {
		args = []string{p.address}
	}
	run := &process{cmd: exec.Command(self, args...), stderr: new(tail), ended: make(chan struct{})}
	run.cmd.Env = append(os.Environ(), roleVariable+"="+rolePricing)
	run.cmd.Stderr = run.stderr
	setProcessGroup(run.cmd)
	stdin, err := run.cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("starting the pricing service: %w", err)
	}
	run.stdin = stdin
	stdout, err := run.cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting the pricing service: %w", err)
	}
	if err := run.cmd.Start(); err != nil {
		return fmt.Errorf("starting the pricing service: %w", err)
	}
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		lines <- strings.TrimSpace(line)
		err := run.cmd.Wait()
		close(run.ended)
		if !run.wasKilled() {
			p.died <- fmt.Errorf("the pricing service died: %w%s", orNoError(err), run.stderr)
		}
	}()
	p.process = run
	select {
	case p.address = <-lines:
		if p.address != "" {
			return nil
		}
		return <-p.died
	case <-time.After(10 * time.Second):
		p.kill()
		return errors.New("the pricing service did not say within 10s where it listens")
	case <-ctx.Done():
		p.kill()
		return context.Cause(ctx)
	}
}

// kill ends the process at once, as an outage does, and waits until it is gone. It does nothing if it is not running.
func (p *pricing) kill() {
	run := p.process
	if run == nil {
		return
	}
	p.process = nil
	run.mu.Lock()
	run.killed = true
	run.mu.Unlock()
	_ = run.cmd.Process.Kill()
	_ = run.stdin.Close()
	<-run.ended
}

func (p *pricing) running() bool { return p.process != nil }

func (p *pricing) pid() int { return p.process.cmd.Process.Pid }

func (r *process) wasKilled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.killed
}

// enter has the service begin a phase.
func (p *pricing) enter(ctx context.Context, to phase) error {
	body, err := json.Marshal(to.behavior)
	if err != nil {
		return err
	}
	return p.ask(ctx, http.MethodPut, "/phase", body, nil)
}

// counts returns how many requests of the present phase have reached the service, by client.
func (p *pricing) counts(ctx context.Context) (map[string]int, error) {
	var counts map[string]int
	return counts, p.ask(ctx, http.MethodGet, "/counts", nil, &counts)
}

func (p *pricing) ask(ctx context.Context, method, path string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+p.address+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := p.control.Do(req)
	if err != nil {
		select {
		case died := <-p.died: // which is why
			return died
		case <-time.After(100 * time.Millisecond):
			return err
		}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: the pricing service answers %s", method, path, resp.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}

// tail keeps the end of what a process writes.
type tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b...)
	t.end = t.end[max(0, len(t.end)-2000):]
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.end) == 0 {
		return ""
	}
	return "; it wrote: " + strings.TrimSpace(string(t.end))
}

func orNoError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}
