// Package collector sends what a service tells to the OpenTelemetry Collector itself, which runs in the process, and looks
// at what arrived.
package collector
