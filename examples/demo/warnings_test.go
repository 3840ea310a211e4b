package main

import (
	"context"
	"net/http"
	"testing"

	"github.com/telltale-go/telltale/events"
)

// What the demo shows is what we recommend.
func TestTheDemosPipelineWarnsOfNothing(t *testing.T) {
	transport, err := resilientTransport(http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	defer transport.Close(context.Background())
	d := transport.Describe()
	for _, w := range d.Warnings {
		if w.Code != events.WarningDuplicateName { // of the demo that another test has run
			t.Errorf("%+v", w)
		}
	}
	if d.AttemptsAtWorst < 2 {
		t.Errorf("%d attempts fit at worst", d.AttemptsAtWorst)
	}
}
