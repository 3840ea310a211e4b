// Package incident plays an outage in virtual time, scrapes it as Prometheus would, and asks Prometheus's own engine what
// a person on call asks.
package incident
