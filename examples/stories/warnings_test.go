package stories_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// reasons are why a pipeline of the stories warns all the same, by its name and the warning's code.
var reasons = map[string]string{
	"reports.get timeout_order":  "Example_warnings shows it",
	"reports.get short_duration": "Example_warnings shows it",
}

// TestMain listens while the stories run: what we recommend warns of nothing.
func TestMain(m *testing.M) {
	unexpected := 0
	flag.Parse()
	repeated := flag.Lookup("test.count").Value.String() != "1" // then each name is used again
	events.Default().ConfigWarning.Subscribe(func(_ context.Context, e events.ConfigWarning) {
		name := e.Source.Pipeline() + e.Source.Layer()
		if e.Code == events.WarningDuplicateName && repeated || reasons[e.Source.Pipeline()+" "+e.Code] != "" {
			return
		}
		unexpected++
		fmt.Printf("a story warns: %s: %s: %s\n", name, e.Code, e.Message)
	})
	code := m.Run()
	if unexpected > 0 && code == 0 {
		code = 1
	}
	os.Exit(code)
}

// Somebody forgot a unit. The pipeline works, that is, it fails every call: 500 is half a microsecond. What is odd is told
// when it is built, to whoever listens, also later, and can be asked for: a test of the service's own can insist that
// there is nothing.
func Example_warnings() {
	reports := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "reports.get",
		Layers: []resilience.Layer{
			resilience.Timeout{After: 500},
			resilience.Retry{},
			resilience.Timeout{After: 2 * time.Second},
		},
	})
	for _, w := range reports.Warnings() {
		fmt.Println(w.Code, w.Layers, w.Message)
	}

	cancel := events.Default().ConfigWarning.Subscribe(func(_ context.Context, e events.ConfigWarning) {
		if e.Source.Pipeline() == "reports.get" {
			fmt.Println("late, and told all the same:", e.Code)
		}
	})
	defer cancel()
	// Output:
	// short_duration [0] Timeout.After is 500ns: is its unit missing? A plain number is nanoseconds (500 * time.Millisecond)
	// timeout_order [0 2] layer 0 (timeout_0) ends before or with layer 2 (timeout_2), which never ends anything by itself: 2s is not shorter than 500ns
	// late, and told all the same: short_duration
	// late, and told all the same: timeout_order
}

// How many attempts fit, if each takes all it may? Three are allowed; the limits leave time for two.
func Example_attemptsAtWorst() {
	slow := resilience.MustPipeline(resilience.PipelineConfig[string]{
		Name: "archive.get",
		Layers: []resilience.Layer{
			resilience.Timeout{After: 3 * time.Second},
			resilience.Retry{MaxAttempts: 3, Backoff: resilience.Exponential{Base: 500 * time.Millisecond}},
			resilience.Timeout{After: time.Second},
		},
	})
	fmt.Println(slow.Describe().AttemptsAtWorst)
	// Output: 2
}
