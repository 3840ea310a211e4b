// Package orders is the client of the orders API, as its description generates it.
//
//go:generate env GOWORK=off go tool -modfile=../../../../tools/go.mod oapi-codegen -config oapi-codegen.yaml orders.yaml
package orders
