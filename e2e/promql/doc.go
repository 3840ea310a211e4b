// Package promql answers PromQL over what a handler exposed, with the engine and the storage of Prometheus itself: for
// tests that ask what an operator asks.
package promql
