// Package grpcres placeholder.
package grpcres
