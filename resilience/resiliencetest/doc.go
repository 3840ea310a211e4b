// Package resiliencetest helps to test what is built with package resilience: a [Recorder] of events with assertions that
// can be read, operations that follow a script ([Script]), and a kit that checks whether a layer of one's own keeps what
// every layer must ([TestGate], [TestTypedLayer], [TestLayer]).
//
// All of it works inside and outside of testing/synctest bubbles, and is safe for concurrent use.
package resiliencetest
