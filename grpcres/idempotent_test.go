package grpcres_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	_ "google.golang.org/protobuf/types/known/emptypb" // the file below imports it

	"github.com/telltale-go/telltale/grpcres"
	"github.com/telltale-go/telltale/resilience"
)

// GRPC-01: a method is declared idempotent where it is defined.
func TestIdempotencyIsReadFromTheDefinition(t *testing.T) {
	method := func(name string, level *descriptorpb.MethodOptions_IdempotencyLevel) *descriptorpb.MethodDescriptorProto {
		m := &descriptorpb.MethodDescriptorProto{
			Name: proto.String(name), InputType: proto.String(".google.protobuf.Empty"), OutputType: proto.String(".google.protobuf.Empty"),
		}
		if level != nil {
			m.Options = &descriptorpb.MethodOptions{IdempotencyLevel: level}
		}
		return m
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Syntax: proto.String("proto3"), Name: proto.String("grpcres/test/declared.proto"), Package: proto.String("declared"),
		Dependency: []string{"google/protobuf/empty.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("S"), Method: []*descriptorpb.MethodDescriptorProto{
			method("Get", descriptorpb.MethodOptions_NO_SIDE_EFFECTS.Enum()),
			method("Put", descriptorpb.MethodOptions_IDEMPOTENT.Enum()),
			method("Unknown", descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN.Enum()),
			method("Post", nil),
		}}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := protoregistry.GlobalFiles.FindFileByPath(file.Path()); err != nil { // the test may run again
		if err := protoregistry.GlobalFiles.RegisterFile(file); err != nil {
			t.Fatal(err)
		}
	}
	for method, want := range map[string]bool{
		"/declared.S/Get": true, "/declared.S/Put": true, "/declared.S/Unknown": false, "/declared.S/Post": false,
		"/declared.S/": false, "/declared.S": false, "/declared.S/None": false, "/google.protobuf/Empty": false, "": false, "/": false,
	} {
		if got := grpcres.IsIdempotent(method); got != want {
			t.Errorf("%q: %t", method, got)
		}
		c, _ := client(t, layers(resilience.Retry{Backoff: resilience.NoDelay}))
		attempts := 0
		_ = c.Unary(t.Context(), method, nil, new(text), nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
			attempts++
			return errDown
		})
		if (attempts == 3) != want {
			t.Errorf("%q: %d attempts", method, attempts)
		}
		if got := grpcres.Methods("/other.S/")(method); got != want {
			t.Errorf("Methods: %q: %t", method, got)
		}
	}
}
