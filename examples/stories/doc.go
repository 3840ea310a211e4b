// Package stories tells, in tested examples, the situations that a service team meets and the pipeline that answers each.
// Every file is one story, or a few that belong together; the comment of an example is the situation.
//
// Calling: one_liner_test.go, shared_breaker_test.go, error_only_test.go, breaker_alone_test.go, classify_test.go,
// hold_test.go. Composing: the files named after what the call needs, such as hot_read_test.go and outbox_test.go;
// full_stack_test.go has all layers in their usual order. Extending: gate_test.go, own_gate_kit_test.go,
// typed_layer_test.go, around_test.go. By key: tenant_test.go. Drills: drill_test.go.
// Watching: listen_test.go, adapters_test.go, virtual_time_test.go. Over HTTP: http_test.go.
package stories
