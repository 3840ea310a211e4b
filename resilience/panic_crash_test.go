package resilience_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// crashing names, in the environment of this test's own binary, the pipeline in which the operation is to panic.
const crashing = "TELLTALE_TEST_CRASH"

// explodes is what the crash must show.
func explodes(context.Context) (int, error) { panic("the operation's own words") }

// crashes are calls whose operation runs on another goroutine than the caller's, or may.
func crashes() map[string]func() {
	forever, leaving := context.Background(), func() context.Context {
		ctx, cancel := context.WithCancel(context.Background())
		context.AfterFunc(ctx, cancel)
		return ctx
	}()
	call := func(ctx context.Context, layers ...resilience.Layer) func() {
		return func() { _, _ = ints(events.NewBus(), layers...).DoKey(ctx, "key", explodes) }
	}
	abandoning := resilience.Timeout{After: time.Minute, Abandon: true}
	return map[string]func(){
		"plainly":                         call(leaving, resilience.Retry{}),
		"in a hedge":                      call(leaving, resilience.Hedge{}),
		"in a flight":                     call(leaving, joined()),
		"in a flight on the caller's own": call(forever, joined()),
		"behind a limit":                  call(leaving, abandoning),
		"in all of them":                  call(leaving, joined(), abandoning, resilience.Hedge{}),
		"as a recovered one of another": func() {
			recovering := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "inner", RecoverPanics: true, Bus: events.NewBus()})
			_, _ = ints(events.NewBus(), resilience.Hedge{}).Do(leaving, func(ctx context.Context) (int, error) {
				_, err := recovering.Do(ctx, explodes)
				panic(err)
			})
		},
	}
}

// PIPE-13, SFL-03, HDG-08: who reads what a process wrote when it died finds where the operation panicked.
func TestACrashShowsWhereTheOperationPanicked(t *testing.T) {
	if where := os.Getenv(crashing); where != "" {
		crashes()[where]()
		return // the process that waits sees that it did not crash
	}
	for where := range crashes() {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			process := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestACrashShowsWhereTheOperationPanicked$")
			process.Env = append(os.Environ(), crashing+"="+where)
			var said strings.Builder
			process.Stderr = &said
			if err := process.Run(); err == nil || process.ProcessState.ExitCode() != 2 {
				t.Fatalf("it ended with %v", err)
			}
			for _, want := range []string{"panic: ", "the operation's own words", "resilience_test.explodes(", "panic_crash_test.go:"} {
				if !strings.Contains(said.String(), want) {
					t.Errorf("its last words have no %q:\n%s", want, &said)
				}
			}
			if n := strings.Count(said.String(), "resilience_test.explodes("); n > 2 { // the runtime's own stack may show it, too
				t.Errorf("its last words tell it %d times:\n%s", n, &said)
			}
		})
	}
}

// PIPE-13: what stays an error has a short text, for logs.
func TestARecoveredPanicHasAShortText(t *testing.T) {
	p := resilience.MustPipeline(resilience.PipelineConfig[int]{Name: "p", RecoverPanics: true, Bus: events.Off(), Layers: layers{resilience.Hedge{}}})
	if _, err := p.Do(t.Context(), explodes); err == nil || err.Error() != "resilience: panic: the operation's own words" {
		t.Errorf("got %q", err)
	}
}

// PIPE-13: nor is it lost when it is nil.
func TestANilPanicErrorIsRaisedToo(t *testing.T) {
	got, _ := survive(func() {
		_, _ = ints(events.Off(), resilience.Hedge{}).Do(t.Context(), func(context.Context) (int, error) { panic((*resilience.PanicError)(nil)) })
	})
	if p, ok := got.(*resilience.PanicError); !ok || p == nil || !p.Raised {
		t.Errorf("got %#v", got)
	}
}
