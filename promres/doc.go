// Package promres turns the events of package events into Prometheus metrics. One line in main is all there is to do:
//
//	defer promres.MustAttach(events.Default(), promres.Config{})()
//
// The metrics of every pipeline, breaker and limiter of the bus, those that exist and those that come, are then in the
// default registry. Counters over closed sets of labels and gauges exist at zero from the moment their pipeline or layer
// exists and vanish when it is gone; histograms and series with an error_type appear at their first use. Sources with
// equal names share their series. What a breaker or limiter tells of itself is read at the scrape.
//
// Names and labels are the exact translation of the OpenTelemetry names that package otelres uses, so that one set of
// dashboards and alerts serves both.
package promres
