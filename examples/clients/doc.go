// Package clients is the module of the examples with clients that are not plain HTTP or gRPC: database/sql, a message
// broker with an outbox, SMTP, an SDK that retries by itself, Connect, and a generated OpenAPI client. Each is a command
// that runs against the real thing, started within the process:
//
//	go run ./database
//
// It is a module of its own, so that the other examples do without its dependencies. docs/clients.md explains the six.
package clients
