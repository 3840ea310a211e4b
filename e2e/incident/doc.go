// Package incident asks Prometheus's own engine what a person on call asks in an outage, and compares its answers with what
// happened.
package incident
