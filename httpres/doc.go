// Package httpres sends HTTP requests through a pipeline of package resilience, and has servers take in as many as they can
// serve. Its [Transport] is an http.RoundTripper:
//
//	client := &http.Client{Transport: httpres.MustTransport(nil, httpres.Config{
//		Name: "payments",
//		Layers: []resilience.Layer{ // outermost first
//			resilience.Timeout{After: 5 * time.Second}, // until the body is closed
//			resilience.Retry{MaxAttempts: 3},
//			payments, // a *resilience.Breaker
//			resilience.Timeout{After: time.Second}, // until an attempt's headers
//		},
//	})}
//
// [Standard] is a preset for calling a service; [WithPipeline] takes another pipeline for one request.
//
// # What is sent again
//
// Requests whose repetition does no harm (see [IsIdempotent]) are, when the connection fails or the answer has one of the
// statuses 408, 429, 502, 503 and 504, and as long as their whole body can be sent again: with Request.GetBody, or out of a
// buffer that remembers what the first attempt sent (see Config.MaxBodyBuffer). Everything else is sent once; where a
// Retry would have gone on, RetryStopped tells why it did not: not_retryable, or not_replayable for the body.
//
// Under the pipeline net/http has a habit of its own that no layer sees and no attempt counts: when a kept connection turns
// out to be dead, it silently sends a request again on another one. It does so for every request of which nothing was
// written yet, and for GET, HEAD, OPTIONS, TRACE and whatever has an Idempotency-Key or X-Idempotency-Key header, if there
// is no body or Request.GetBody can get it again. To see a server get a request more often than the attempts say, look
// there first.
//
// # What the caller gets
//
// What any RoundTripper returns: after the last attempt a failing answer is a response with a nil error, unread, and an
// error comes with no response. The responses before it are read to their end, within bounds, and closed, so that
// their connections are used again.
//
// A Timeout inside a Retry covers the attempt up to the response's headers. One outside of every Retry goes on until the
// response's body is closed or read to its end, and so do the permits of bulkheads; reading past the limit fails with a
// *resilience.TimeoutError. A breaker learns the outcome at the headers. As ever, a body has to be closed.
//
// # Hosts
//
// One transport may serve many servers. A breaker among its layers is then one for all of them; [NewBreakerPerHost], and
// any resilience.Keyed with [Host] as its Key, has one for each, in a table that is bounded.
//
// # Hedges
//
// A resilience.Hedge sends beside each other what may be sent again. A request with a body needs Request.GetBody for that,
// which is then called concurrently, as are the functions of an httptrace.ClientTrace; one whose body can be read once, or
// that has a Trailer, is sent again only when nothing is under way. The runs that lost may read their bodies for a moment
// after the call: WaitLosers, if the memory of a body is used anew. [Route] sends them to other servers.
//
// # An http.Client's own limits
//
// Client.Timeout is a limit around the whole pipeline. It comes as the deadline of the request's context, so it cannot be told
// from one of the caller's: where it is shorter than the pipeline's own limits, they never end anything, and what it ends is a
// cancellation by the caller, in telemetry, too, which no breaker counts (see BreakerConfig.CountDeadlines). ConfigWarning
// client_timeout tells of it, once. Leave it zero, and let a Timeout limit the whole. Redirects pass the pipeline one by one.
//
// A Transport that is the base of another multiplies the attempts of both, as does one that is given to a client with retries
// of its own, such as a cloud's SDK; ConfigWarning nested_retry tells of it, of clients by what their requests say.
//
// # Servers
//
// A [Middleware] has a server turn away what it cannot serve in time. What a client waits for, Config.TimeoutHeader tells it.
//
// An attempt's number is found with resilience.AttemptNumber in the context of the request that the base gets.
package httpres
