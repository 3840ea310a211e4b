// Command demo is the main job on real traffic: two clients send the same load to a pricing service, a separate
// process, while it goes through a scripted incident. One is a bare http.Client, the other has a Telltale pipeline as
// its transport.
//
// It ends by itself within a minute. Exit status: 0 when the incident was played to its end, 1 when something broke, 2
// for wrong usage or an occupied port, 130 when interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

func main() {
	if os.Getenv(roleVariable) == rolePricing {
		os.Exit(servePricing(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// options are the command line's.
type options struct {
	listen string
	serve  bool
	rate   int
	speed  float64
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:9464", "address of the console, /metrics and /sources; port 0 takes a free one")
	flags.BoolVar(&o.serve, "serve", false, "play the incident again and again until interrupted")
	flags.IntVar(&o.rate, "rate", 50, "calls a second of each client, 1 to 1000")
	flags.Float64Var(&o.speed, "speed", 1, "plays the incident faster (up to 10) or slower (from 0.1); timeouts and cooldowns stay")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q: there are only flags, see -help", flags.Arg(0))
	}
	if err := checkListen(o.listen); err != nil {
		return o, err
	}
	if o.rate < 1 || o.rate > 1000 {
		return o, fmt.Errorf("-rate %d: must be 1 to 1000 calls a second", o.rate)
	}
	if !(o.speed >= 0.1 && o.speed <= 10) {
		return o, fmt.Errorf("-speed %v: must be 0.1 to 10", o.speed)
	}
	return o, nil
}

// checkListen wants an address of this machine's: without a host the demo would be open to the network.
func checkListen(address string) error {
	host, port, err := net.SplitHostPort(address)
	if n, bad := strconv.Atoi(port); err != nil || host == "" || bad != nil || n < 0 || n > 65535 {
		return fmt.Errorf("-listen %q: must be host:port, such as 127.0.0.1:9464, or 127.0.0.1:0 for a free port", address)
	}
	return nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "demo:", err)
		return exitUsage
	}
	err = play(ctx, o, stdout)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "demo: interrupted; the pricing service is stopped")
		return exitInterrupted
	}
	fmt.Fprintln(stderr, "demo:", err)
	if errors.Is(err, errOccupied) || errors.Is(err, errEnvironment) {
		return exitUsage
	}
	return exitFailed
}

// play runs the incident, once or until interrupted, and reports.
func play(ctx context.Context, o options, out io.Writer) error {
	began := time.Now()
	t, err := startTelemetry(ctx, out, began)
	if err != nil {
		return err
	}
	defer t.stop(out)
	site, err := startSite(o.listen, t)
	if err != nil {
		return err
	}
	defer site.stop()
	service, err := startPricing(ctx)
	if err != nil {
		return err
	}
	defer service.kill()
	clients, err := newClients(service.address)
	if err != nil {
		return err
	}
	defer closeClients(clients)

	fmt.Fprintf(out, "pricing service  pid %d on %s\nconsole          http://%s/debug/resilience/\nmetrics          http://%s/metrics\nsources          http://%s/sources\nspans            %s\nlog              %s\n\n",
		service.pid(), service.address, site.address, site.address, site.address, t.destination, t.logFile)
	for round := 1; ; round++ {
		err := playOnce(ctx, o, out, t, service, clients)
		if err != nil || !o.serve {
			return err
		}
		fmt.Fprintf(out, "\nserving http://%s/debug/resilience/, /metrics and /sources: the incident is played again; stop with Ctrl-C (round %d is over)\n\n", site.address, round)
	}
}

// playOnce runs the incident once. Interrupted, it still reports what it has seen.
func playOnce(ctx context.Context, o options, out io.Writer, t *telemetry, service *pricing, clients []*client) error {
	t.transitions.clear()
	t.spans.clear()
	for _, c := range clients {
		c.tally.clear()
	}
	err := playIncident(ctx, o, out, t.began, service, clients)
	if err != nil && ctx.Err() == nil {
		return err
	}
	if err != nil {
		fmt.Fprintln(out, "\nInterrupted: what follows is not the whole incident, and calls under way are not in it.")
	}
	report(out, clients)
	if err == nil {
		verdict(out, clients[0], clients[1])
	}
	t.transitions.report(out)
	t.spans.report(out)
	return err
}
