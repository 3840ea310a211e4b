// Package e2e tests the adapters together, against what reads them.
package e2e
