package main

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// newClient hands out a client that sends each request once: the SDK alone would send it three times, and each of our
// attempts would be three of its. It has a limit of its own, too, for who calls it without a pipeline. With package
// config it is config.WithRetryer and config.WithHTTPClient.
func newClient(endpoint string, credentials aws.CredentialsProvider) *sqs.Client {
	return sqs.New(sqs.Options{
		BaseEndpoint: &endpoint, Region: "eu-central-1", Credentials: credentials,
		Retryer:    aws.NopRetryer{},
		HTTPClient: &http.Client{Timeout: 5 * time.Second},
	})
}

// queue sends to one queue. The pipeline stands around the SDK's call and not in its http.Client: there it would neither
// see what the SDK reads out of an answer, such as a throttling with the status 400, nor sign an attempt anew.
type queue struct {
	client *sqs.Client
	url    string
	sends  *resilience.Pipeline[*sqs.SendMessageOutput]
}

func newQueue(client *sqs.Client, url string, attempt time.Duration, bus *events.Bus) (*queue, error) {
	breaker, err := resilience.NewBreaker(resilience.BreakerConfig{Name: "sqs", Bus: bus})
	if err != nil {
		return nil, err
	}
	sends, err := resilience.NewPipeline(resilience.PipelineConfig[*sqs.SendMessageOutput]{
		Name: "sqs.send", Bus: bus,
		RetryIf:   repeatable,
		FailureIf: repeatable, // a request that is wrong is not the queue's failure
		Layers: []resilience.Layer{
			resilience.Timeout{Name: "total", After: 5 * attempt},
			resilience.Retry{Backoff: resilience.Exponential{Base: 50 * time.Millisecond}},
			breaker,
			resilience.Timeout{Name: "attempt", After: attempt},
		},
	})
	return &queue{client, url, sends}, err
}

// sdkRules are what the SDK itself would repeat.
var sdkRules = retry.IsErrorRetryables(retry.DefaultRetryables)

// repeatable leaves to the SDK what it knows, which is what its errors mean, and knows what is ours, such as an attempt's
// timeout.
func repeatable(err error) bool {
	return resilience.IsTransient(err) || sdkRules.IsErrorRetryable(err) == aws.TrueTernary
}

// send sends a message to a FIFO queue, which knows it by its id: sent again, it is there once.
func (q *queue) send(ctx context.Context, id, body string) (*sqs.SendMessageOutput, error) {
	return q.sends.Do(ctx, func(ctx context.Context) (*sqs.SendMessageOutput, error) {
		return q.client.SendMessage(ctx, &sqs.SendMessageInput{
			QueueUrl: &q.url, MessageBody: &body,
			MessageGroupId: aws.String("orders"), MessageDeduplicationId: &id,
		})
	})
}
