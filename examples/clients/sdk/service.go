package main

import (
	"context"
	"crypto/md5"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// service is as much of SQS as the example needs: it counts the requests, and fails as it is told.
type service struct {
	mu       sync.Mutex
	next     []answer
	requests []http.Header
}

type answer int

const (
	ok answer = iota
	unavailable
	throttled
	noSuchQueue
	hangs
)

// will has the next requests answered so.
func (s *service) will(answers ...answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.requests = answers, nil
}

// got returns the headers of the requests since.
func (s *service) got() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Header)
	next := ok
	if len(s.next) > 0 {
		next, s.next = s.next[0], s.next[1:]
	}
	s.mu.Unlock()

	var message struct{ MessageBody string }
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	switch next {
	case ok:
		fmt.Fprintf(w, `{"MessageId":"m-1","MD5OfMessageBody":"%x"}`, md5.Sum([]byte(message.MessageBody)))
	case unavailable:
		w.WriteHeader(http.StatusServiceUnavailable)
	case throttled:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazonaws.sqs#RequestThrottled","message":"slow down"}`)
	case noSuchQueue:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"no such queue"}`)
	case hangs:
		<-r.Context().Done()
	}
}

// local are the credentials of a service that looks at none.
var local = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
})
