// Command gen writes the dashboards, the rules and their Kubernetes manifests from Go: make gen. What it writes is
// committed, and a test compares.
package main
