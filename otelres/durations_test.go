package otelres_test

import (
	"encoding/json"
	"testing"

	"github.com/telltale-go/telltale/otelres"
)

func TestDurationsGoThroughTextAndBack(t *testing.T) {
	for _, d := range []otelres.Durations{otelres.DurationsAll, otelres.DurationsExecutions, otelres.DurationsNone} {
		text, err := json.Marshal(d)
		var back otelres.Durations
		if err != nil || json.Unmarshal(text, &back) != nil || back != d {
			t.Errorf("%s became %s and then %s, %v", d, text, back, err)
		}
	}
	if got := otelres.Durations(0).String(); got != "all" {
		t.Errorf("zero is %q, want all", got)
	}
	if _, err := otelres.Durations(9).MarshalText(); err == nil {
		t.Error("Durations(9) has a text")
	}
	var d otelres.Durations
	if err := d.UnmarshalText([]byte("some")); err == nil || err.Error() != `otelres: Durations "some" is not one of all, executions, none` {
		t.Errorf("error %v", err)
	}
}
