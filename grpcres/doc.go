// Package grpcres sends the calls and streams of gRPC channels through layers of package resilience, and has servers
// shed load by them. Its [Client] gives a channel its options:
//
//	client := grpcres.MustClient(grpcres.Standard("payments"))
//	conn, err := grpc.NewClient(target, append(client.DialOptions(), grpc.WithTransportCredentials(creds))...)
//
// # What is sent again
//
// By default what surely reached nobody: UNAVAILABLE alone does not prove that, so the channel is asked whether it had
// handed the call to a connection (resilience.IsNotProcessed knows of it inside the pipeline). What a server may have
// executed is sent again only if its method is declared idempotent: by the option idempotency_level in its protobuf
// file (see [IsIdempotent]), or in the client's configuration (see [Methods]). Then UNAVAILABLE is retried, a Timeout
// of an attempt, and RESOURCE_EXHAUSTED if the server says when to come back. Where a Retry would have gone on,
// RetryStopped tells why it did not: not_retryable, or not_replayable for a stream.
//
// A server's word counts: the trailer grpc-retry-pushback-ms and the detail google.rpc.RetryInfo are hints, which raise
// the delay up to Retry.MaxDelay; a pushback that is negative or no number ends the retry, as gRFC A6 has it.
//
// A channel has habits of its own. Its retry policy is switched off by [Client.DialOptions]; where only the
// interceptors are used ([Client.Unary], [Client.Stream]) a ConfigWarning, nested_retry, tells of a policy in the
// service config, as far as it can be seen (of xDS it cannot). What a connection did not take, or a server did surely
// not process, gRPC sends again "transparently": no layer sees that, and no attempt counts it.
//
// # Streams
//
// A stream is established when its first message comes. Until then what the caller sends is remembered (see
// Config.MaxReplay) and sent again by the next attempt; from then on nothing is retried. Whoever asks for the Header
// before, or sends more than is remembered, has it established there and then. The layers keep their permits, and
// breakers wait for the outcome (but see Config.JudgeAtFirstMessage), until the stream ends: received to its end or to
// an error, its context done, its channel closed. As ever with gRPC, one of these has to happen.
//
// # What the caller gets
//
// The channel's own error after the last attempt. What a layer decides is an error of package resilience with a status:
// UNAVAILABLE for an open breaker, RESOURCE_EXHAUSTED for a limiter, DEADLINE_EXCEEDED for a timeout; errors.Is and
// errors.As find it.
//
// The number of attempts before travels as grpc-previous-rpc-attempts (on a server: [PreviousAttempts]), the priority
// as [PriorityKey]; the deadline travels by itself.
//
// # Servers
//
// A [Server] has handlers run in layers, turns away what has no place with a status that says when to come back, takes
// the priority from the metadata, and turns panics into INTERNAL.
package grpcres
