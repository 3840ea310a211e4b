package main

import (
	"path"
	"slices"
	"strings"
)

// object is a Kubernetes object; its fields come in the order of the manifest.
type object struct {
	APIVersion string            `yaml:"apiVersion"`
	Kind       string            `yaml:"kind"`
	Metadata   metadata          `yaml:"metadata"`
	Spec       any               `yaml:"spec,omitempty"`
	Data       map[string]string `yaml:"data,omitempty"`
}

type metadata struct {
	Name   string            `yaml:"name"`
	Labels map[string]string `yaml:"labels,omitempty"`
}

// prometheusRule is for the Prometheus operator: the recording rules and the alerts.
func prometheusRule() object {
	return object{"monitoring.coreos.com/v1", "PrometheusRule", metadata{"resilience", map[string]string{"app.kubernetes.io/part-of": "resilience"}},
		ruleFile{append(slices.Clone(recording.spelled().Groups), alerts.spelled().Groups...)}, nil}
}

// serviceMonitor has the operator scrape every service that is labelled resilience: "true", at its port named metrics.
func serviceMonitor() object {
	type endpoint struct {
		Port     string `yaml:"port"`
		Path     string `yaml:"path"`
		Interval string `yaml:"interval"`
	}
	type spec struct {
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"selector"`
		Endpoints []endpoint `yaml:"endpoints"`
	}
	s := spec{Endpoints: []endpoint{{"metrics", "/metrics", "30s"}}}
	s.Selector.MatchLabels = map[string]string{"resilience": "true"}
	return object{"monitoring.coreos.com/v1", "ServiceMonitor", metadata{Name: "resilience"}, s, nil}
}

// configMaps hold the dashboards, labelled as Grafana's sidecar looks for them.
func configMaps(files map[string][]byte) ([]byte, error) {
	var maps []any
	for _, b := range boards() {
		name := "grafana/" + b.File
		maps = append(maps, object{"v1", "ConfigMap", metadata{"resilience-dashboard-" + strings.TrimSuffix(b.File, path.Ext(b.File)),
			map[string]string{"grafana_dashboard": "1"}}, nil, map[string]string{b.File: string(files[name])}})
	}
	return asYAML(maps...)
}
