package grpcres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc"

	"github.com/telltale-go/telltale/resilience"
)

// Client sends the calls and streams of gRPC channels through its layers. Make one with [NewClient] and share it among
// the channels to one dependency: it is safe for concurrent use.
type Client struct {
	cfg     Config // with defaults
	unary   *resilience.Pipeline[any]
	streams *resilience.Pipeline[any] // the same as unary without StreamLayers
	copies  bool                      // attempts of a call may run beside each other: each has its own reply
	repeats struct{ unary, streams bool }
	channel channelRetry
}

var (
	errNotMade  = errors.New("grpcres: the Client was not made by NewClient")
	errNoAnswer = errors.New("grpcres: neither a reply nor an error came back")
)

// NewClient makes a client. Its error is that of resilience.NewPipeline, or tells which option is wrong.
func NewClient(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("grpcres: client %q: %w", cfg.Name, err)
	}
	cfg, err := cfg.made()
	if err != nil {
		return nil, fmt.Errorf("grpcres: client %q: %w", cfg.Name, err)
	}
	c := &Client{cfg: cfg, copies: slices.ContainsFunc(cfg.Layers, mayRunBeside)}
	if c.unary, err = c.pipeline(cfg.Name, cfg.Layers); err != nil {
		return nil, err
	}
	c.streams = c.unary
	c.repeats.unary = slices.ContainsFunc(cfg.Layers, repeats)
	c.repeats.streams = c.repeats.unary
	if cfg.StreamLayers != nil {
		c.repeats.streams = slices.ContainsFunc(cfg.StreamLayers, repeats)
		if c.streams, err = c.pipeline(cfg.Name+".streams", cfg.StreamLayers); err != nil {
			return nil, errors.Join(err, c.unary.Close(context.Background()))
		}
	}
	return c, nil
}

// MustClient is NewClient, and panics with its error.
func MustClient(cfg Config) *Client {
	c, err := NewClient(cfg)
	if err != nil {
		panic(err)
	}
	return c
}

func (c *Client) pipeline(name string, layers []resilience.Layer) (*resilience.Pipeline[any], error) {
	return resilience.NewPipeline(resilience.PipelineConfig[any]{
		Name:          name,
		Layers:        asking(layers),
		RetryIf:       c.cfg.RetryIf,
		FailureIf:     c.cfg.FailureIf,
		Discard:       discard,
		Hold:          hold,
		JudgeOnReturn: c.cfg.JudgeAtFirstMessage,
		Bus:           c.cfg.Bus,
	})
}

// DialOptions returns the options with which a channel sends everything through the client and does not retry by
// itself:
//
//	conn, err := grpc.NewClient(target, append(client.DialOptions(), grpc.WithTransportCredentials(creds))...)
//
// Where a service config asks for retries the client's layers are the only ones that do. Interceptors given before are
// outside, and see a call once; those given later are inside, and see each attempt.
func (c *Client) DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDisableRetry(),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
			invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return c.call(ctx, method, req, reply, cc, invoker, opts, true)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
			streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return c.open(ctx, desc, cc, method, streamer, opts, true)
		}),
	}
}

// Unary is a grpc.UnaryClientInterceptor, for a channel that does not get the [Client.DialOptions]. If the channel's
// service config has a retry policy for the method, a ConfigWarning tells that two retry, since it cannot be seen
// whether grpc.WithDisableRetry was given, and no failure then proves that nothing was sent.
func (c *Client) Unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	return c.call(ctx, method, req, reply, cc, invoker, opts, false)
}

// Stream is a grpc.StreamClientInterceptor, as [Client.Unary] is one for unary calls.
func (c *Client) Stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return c.open(ctx, desc, cc, method, streamer, opts, false)
}

// Describe returns the pipeline of unary calls as data.
func (c *Client) Describe() resilience.Description {
	if c.unary == nil {
		return resilience.Description{}
	}
	return c.unary.Describe()
}

// DescribeStreams returns the pipeline of streams as data: without StreamLayers it is that of unary calls.
func (c *Client) DescribeStreams() resilience.Description {
	if c.streams == nil {
		return resilience.Description{}
	}
	return c.streams.Describe()
}

// Close refuses further calls with resilience.ErrClosed and takes the client off its bus. Calls and streams that run go
// on; it waits, until ctx is done, for attempts that lost to a hedge. The channels are left alone. Closing again does
// nothing.
func (c *Client) Close(ctx context.Context) error {
	if c.unary == nil {
		return nil
	}
	return errors.Join(c.unary.Close(ctx), c.streams.Close(ctx))
}
