package grpcres

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// IsIdempotent tells whether a method is declared idempotent where it is defined, by its option idempotency_level
// (IDEMPOTENT or NO_SIDE_EFFECTS), as far as its protobuf file is linked into the program:
//
//	rpc GetUser(GetUserRequest) returns (User) { option idempotency_level = NO_SIDE_EFFECTS; }
func IsIdempotent(method string) bool {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return false
	}
	m, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return false
	}
	options, ok := m.Options().(*descriptorpb.MethodOptions)
	return ok && options.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
}

// Methods returns a function for Config.Idempotent that knows these methods, besides those that [IsIdempotent] knows. A
// name that ends with a slash ("/package.Service/") means all methods of the service.
func Methods(names ...string) func(method string) bool {
	known := make(map[string]bool, len(names))
	for _, n := range names {
		known["/"+strings.TrimPrefix(n, "/")] = true
	}
	return func(method string) bool {
		service := method[:strings.LastIndexByte(method, '/')+1]
		return known[method] || known[service] || IsIdempotent(method)
	}
}
