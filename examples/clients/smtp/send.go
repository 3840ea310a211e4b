package main

import (
	"context"
	"errors"
	"net"
	"net/smtp"
	"net/textproto"
	"strconv"
	"time"

	"github.com/telltale-go/telltale/resilience"
)

// mail has one recipient: of several, a server may accept some and refuse others, and then nothing may be repeated.
type mail struct {
	From, To string
	Body     []byte
}

// send sends a mail. An error tells how far it got: see sendError.
func send(ctx context.Context, address string, m mail) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return judged("connect", err)
	}
	defer conn.Close()
	// net/smtp knows no contexts: when this one ends, the connection's deadline is over, and what reads or writes returns.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(0, 1)) })()

	host, _, _ := net.SplitHostPort(address)
	client, err := smtp.NewClient(conn, host) // then StartTLS and Auth, where the server wants them
	if err != nil {
		return judged("greeting", err)
	}
	if err := client.Mail(m.From); err != nil {
		return judged("MAIL", err)
	}
	if err := client.Rcpt(m.To); err != nil {
		return judged("RCPT", err)
	}
	body, err := client.Data()
	if err != nil {
		return judged("DATA", err)
	}
	if _, err := body.Write(m.Body); err != nil {
		return judged("body", err) // without the final dot it is no mail
	}
	if err := body.Close(); err != nil { // sends the final dot, and waits for what the server says to it
		return judged(finalDot, err)
	}
	_ = client.Quit() // the mail is the server's by now, whatever it says
	return nil
}

// finalDot is the step that hands a mail over. When it fails without an answer, nobody knows whose the mail is.
const finalDot = "final dot"

// sendError tells why a mail was not sent, as far as is known.
type sendError struct {
	step string
	err  error
}

// judged is the error of a step. An answer from 500 on is the server's last word: no further attempt changes it.
func judged(step string, err error) error {
	e := &sendError{step, err}
	if e.answer() >= 500 {
		return resilience.Permanent(e)
	}
	return e
}

func (e *sendError) Error() string { return "smtp: " + e.step + ": " + e.err.Error() }
func (e *sendError) Unwrap() error { return e.err }

// answer is the server's, such as 451; 0 if it gave none.
func (e *sendError) answer() int {
	var answer *textproto.Error
	if errors.As(e.err, &answer) {
		return answer.Code
	}
	return 0
}

// ErrorType is the class in telemetry: the text may have an address in it.
func (e *sendError) ErrorType() string {
	if code := e.answer(); code != 0 {
		return "smtp_" + strconv.Itoa(code)
	}
	return "smtp_no_answer"
}

// NotProcessed is asked by resilience.IsNotProcessed: whether the server surely does not have the mail. It has none before
// the final dot, and none that it has refused.
func (e *sendError) NotProcessed() bool { return e.step != finalDot || e.answer() != 0 }

// Transient is asked by resilience.IsTransient: whether the same mail may be accepted later. A refusal of the mail says
// nothing against the server.
func (e *sendError) Transient() bool { return e.answer() < 500 }
