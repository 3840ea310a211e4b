// Command smtp sends mails through net/smtp: with a limit that is checked at the start, and only again what the server
// surely does not have.
//
// SMTP_TIMEOUT_SECONDS, from 1 to 600, is the limit for a mail. The mail server is one in this process.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/examples/clients/internal/show"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "smtp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, getenv func(string) string, out io.Writer) error {
	settings, err := parse(getenv)
	if err != nil {
		return err
	}
	server, err := startServer()
	if err != nil {
		return err
	}
	defer server.Close()
	bus := events.NewBus() // in a service events.Default()
	defer show.Events(bus, out)()
	mailer, err := newMailer(server.Address, settings, bus)
	if err != nil {
		return err
	}

	fmt.Fprintln(out, "a mail may take", settings.Timeout)
	welcome := mail{From: "shop@example.com", To: "ada@example.com", Body: []byte("Subject: Welcome\r\n\r\nHello Ada\r\n")}
	for _, fault := range []fault{none, greylisted, diskFull, dropsMail, noSuchUser, dropsAnswer} {
		fmt.Fprintf(out, "\n# the server: %s\n", fault)
		server.will(fault)
		before := server.accepted.Load()
		err := mailer.send(ctx, welcome)
		fmt.Fprintf(out, "-> %v; the server has it %d times\n", err, server.accepted.Load()-before)
	}
	return nil
}
