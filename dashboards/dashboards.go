// Package dashboards holds the Grafana dashboards, the Prometheus rules and alerts, and their Kubernetes manifests, for
// programs that install them. They work with package promres and with otelres through Prometheus alike. dashboards/gen
// writes them; its tests run every query against a real outage.
package dashboards

import "embed"

// Files has the dashboards under grafana/, the rules under prometheus/, the manifests under kubernetes/.
//
//go:embed grafana/*.json prometheus/*.yaml kubernetes/*.yaml
var Files embed.FS
