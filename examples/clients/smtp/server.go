package main

import (
	"io"
	"log"
	"net"
	"sync"
	"sync/atomic"

	gosmtp "github.com/emersion/go-smtp"
)

// server is a mail server whose next answers can be told in advance.
type server struct {
	Address string
	*gosmtp.Server
	listener net.Listener
	accepted atomic.Int64 // mails that are its by now

	mu   sync.Mutex
	next []fault
}

// fault is how the next mail ends.
type fault string

const (
	none        fault = "mail accepted"
	greylisted  fault = "451 at RCPT"
	noSuchUser  fault = "550 at RCPT"
	diskFull    fault = "452 after the final dot"
	dropsMail   fault = "connection lost before the final dot"
	dropsAnswer fault = "mail accepted, connection lost before the answer"
	hangs       fault = "mail accepted, no answer"
)

func startServer() (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{Address: listener.Addr().String(), listener: listener}
	s.Server = gosmtp.NewServer(s)
	s.Domain = "mail.example"
	s.ErrorLog = log.New(io.Discard, "", 0)
	go s.Serve(listener)
	return s, nil
}

// Close ends the server, also one that has not come to serve yet.
func (s *server) Close() error {
	_ = s.listener.Close()
	return s.Server.Close()
}

// will has the next mails end so.
func (s *server) will(faults ...fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = faults
}

// NewSession implements gosmtp.Backend.
func (s *server) NewSession(conn *gosmtp.Conn) (gosmtp.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := none
	if len(s.next) > 0 {
		next, s.next = s.next[0], s.next[1:]
	}
	return &session{s, conn, next}, nil
}

type session struct {
	server *server
	conn   *gosmtp.Conn
	fault  fault
}

func (s *session) Mail(string, *gosmtp.MailOptions) error { return nil }

func (s *session) Rcpt(string, *gosmtp.RcptOptions) error {
	switch s.fault {
	case greylisted:
		return &gosmtp.SMTPError{Code: 451, EnhancedCode: gosmtp.EnhancedCode{4, 7, 1}, Message: "try again later"}
	case noSuchUser:
		return &gosmtp.SMTPError{Code: 550, EnhancedCode: gosmtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
	case dropsMail:
		_ = s.conn.Conn().Close()
	}
	return nil
}

func (s *session) Data(body io.Reader) error {
	if _, err := io.Copy(io.Discard, body); err != nil {
		return err
	}
	switch s.fault {
	case diskFull:
		return &gosmtp.SMTPError{Code: 452, EnhancedCode: gosmtp.EnhancedCode{4, 3, 1}, Message: "no space"}
	case dropsAnswer:
		_ = s.conn.Conn().Close()
	case hangs:
		defer func() { _, _ = s.conn.Conn().Read(make([]byte, 1)) }() // until the client has left
	}
	s.server.accepted.Add(1)
	return nil
}

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }
