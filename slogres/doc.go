// Package slogres writes what the pipelines and layers of Telltale tell to a [log/slog.Handler]: one record an event.
//
// One line in main opts in:
//
//	defer slogres.MustAttach(events.Default(), slogres.Config{})()
//
// With the trace and span ids of package otelres:
//
//	defer otelres.MustAttach(events.Default(), otelres.Config{})()
//	defer slogres.MustAttach(events.Default(), slogres.Config{Trace: otelres.TraceIDs})()
//
// A record's time is the event's, its message a short constant sentence ("circuit breaker opened"), its attributes are
// flat and those of [events.Fields]. No record holds a call's key or an error's text unless [Config] asks for it.
//
// # Levels
//
// Levels follow [events.SeverityOf]:
//
//   - DEBUG: attempt finished, retry scheduled or stopped, a call rejected by a layer, also in shadow mode, a late result,
//     hedges, singleflights, keys evicted, a call that succeeded, was answered by a fallback or was canceled, sources that
//     come and go
//   - INFO: breaker half-open, closed or disabled, a limit that changed
//   - WARN: breaker opened, timeout, fallback used, fault injected, configuration warning, a failed discard, and a failed
//     call: one record, whatever its attempts did
//   - ERROR: a callback or a handler panicked
//
// A failed attempt that a retry mends is no more than DEBUG; but where it failed by a timeout, that the limit passed is a
// WARN of its own, which [Config].Level can lower. The starts of calls and attempts are left out unless
// [Config].Skip says otherwise: their ends tell all that they do.
//
// # Storms
//
// In an outage every call fails alike. Of identical events above DEBUG the first ten in ten seconds are written at once;
// the rest becomes one record that says how many it stands for ([KeyStandsFor]). [Config].Burst and Period are the two
// numbers. At most a thousand kinds of events are told apart at a time, so memory is bounded.
//
// # Contexts
//
// The handler gets the call's context, so handlers that look for a span find one: the attempt's in the record of an
// attempt, the execution's in that of an execution, whichever of slogres and otelres is attached first.
//
// The context that Handle gets is marked by [events.Nest], and events of calls made with it are ignored, so a handler
// that ships its records with resilient calls does not feed itself. It must pass that context on; the client of one that
// cannot is built with [events.Off]. Enabled gets the context without the mark, because a disabled level costs no
// allocation, and must make no resilient calls.
//
// # Slow and failing handlers
//
// Handlers run inside users' calls; [Config].Buffered moves them to a goroutine of their own. A handler's panic changes
// no call: the bus publishes it, and counts those inside calls ([events.Bus.HandlerPanics]). An error that Handle returns
// changes none either, as with [slog.Logger]; it is counted as an event that slogres lost ([events.Bus.Subscribers]). A
// [Router] counts its own.
package slogres
