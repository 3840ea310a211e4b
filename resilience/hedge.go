package resilience

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/telltale-go/telltale/events"
)

// Hedge is a layer against slow answers: when what is inside it has not answered after a while, it is run once more
// beside, and the first answer counts. Its zero value starts one hedge after a second. It keeps nothing between calls.
//
// Each run is an attempt on a goroutine of its own, with a context of its own, and passes the layers inside on its own:
// each takes its own permit, and has its own Timeout. A success ends the call, and so does a failure that nothing can
// mend: one marked with Permanent, one that If declines, a panic. Other failures, and a refusal by a layer inside, leave
// the runs beside them running. When all have failed, another starts at once while MaxAttempts allows, unless the last
// was refused; else the call's failure is the last one joined with the others, refusals left out; a failing value that
// comes last is handed on as it is.
//
// The runs that lost are cancelled. The call does not wait for them, unless WaitLosers is set; [Pipeline.Close] does.
// Therefore an operation must write nothing that belongs to the caller, such as variables around it or a buffer it was
// given: a run that lost may still do so after the call has returned, and two may do so at once. What a loser still
// returns is discarded (PipelineConfig.Discard), its failure counts for nobody, and its panic is published as
// CallbackPanicked. Hedge only what may run twice.
//
// When the context outside ends, the call returns at once; a success that had come by then is kept, a failing value is
// discarded. An operation that ends its goroutine with runtime.Goexit fails the call with [ErrGoexit]; the panic of the
// run that decides the call is raised again as a *PanicError.
//
// An execution's time counts as Working while it is in the layer, less what the run that decides was queued or backed off.
type Hedge struct {
	// Name tells the layer apart in telemetry; empty means "hedge".
	Name string
	// MaxAttempts is how many runs there may be, the first included, at most 100. Zero means 2, 1 means no hedge. When runs
	// fail at once, so many start one after another without a delay. With a Retry inside or outside the two numbers multiply.
	MaxAttempts int
	// Delay is how long the first run is given before the second starts. The n-th hedge is due n delays after the first
	// run was started. Zero means 1 s.
	Delay time.Duration
	// Learn finds the delay from how long the operation takes. Delay is then what holds until it has learned enough,
	// within Learn's bounds. Nil: Delay it is.
	Learn *LearnedDelay
	// If decides which failures leave the answer to other runs, now or to be started. It is never shown a panic, an
	// error marked with Permanent, a refusal by a layer of ours, or what came after the context's end. Nil means
	// PipelineConfig.RetryIf, and if that is nil too, every failure.
	If func(error) bool
	// OnHedge is called before each hedge is started, with the context of the call, on its goroutine. Returning false starts
	// none: what runs goes on, and the next is asked for when it is due. Nothing is published then.
	OnHedge func(ctx context.Context) bool
	// Budget is the allowance of extra attempts that the hedges share with others: where it denies one, what runs goes on,
	// and the next is asked for when it is due. Nil means no such limit. A run that succeeds, or fails in a way that If
	// accepts, is told to the budget; runs that lost are not.
	Budget *RetryBudget
	// WaitLosers has the call wait until the runs that lost have ended, for operations that write what is the caller's.
	// It then waits for its runs when the context ends, too: it is as cooperative as a call without a Hedge.
	WaitLosers bool
}

const (
	defaultHedgeAttempts = 2
	defaultHedgeDelay    = time.Second
	mostHedgeAttempts    = 100 // each has a goroutine beside the others
)

// LayerInfo implements [Layer].
func (h Hedge) LayerInfo() LayerInfo {
	h = h.withDefaults()
	settings := []Setting{{"max_attempts", fmt.Sprint(h.MaxAttempts)}, {"delay", h.Delay.String()}}
	if h.Learn != nil {
		settings = append(settings, Setting{"learn", h.Learn.setting()})
	}
	if h.Budget != nil {
		settings = append(settings, Setting{"budget", h.Budget.Name()})
	}
	return LayerInfo{Name: h.Name, Type: events.TypeHedge, Settings: append(settings, Setting{"wait_losers", fmt.Sprint(h.WaitLosers)})}
}

func (h Hedge) retryBudget() *RetryBudget { return h.Budget }

func (h Hedge) withDefaults() Hedge {
	h.MaxAttempts = or(h.MaxAttempts, defaultHedgeAttempts)
	h.Delay = or(h.Delay, defaultHedgeDelay)
	return h
}

func (h Hedge) check() error {
	c := checks{typ: "Hedge"}
	c.name("Name", h.Name, false)
	if h.MaxAttempts < 0 || h.MaxAttempts > mostHedgeAttempts {
		c.refuse("MaxAttempts", h.MaxAttempts, fmt.Sprintf("at least 1 and at most %d, or 0 for the default, 2", mostHedgeAttempts))
	}
	c.notNegative("Delay", h.Delay, defaultHedgeDelay)
	if h.Learn != nil && !h.Learn.ready() {
		c.refuse("Learn", "a zero LearnedDelay", "made by NewLearnedDelay, or nil")
	}
	c.budget(h.Budget)
	return c.err()
}

// firstDelay returns how long the first run of a call is given.
func (h Hedge) firstDelay() time.Duration {
	if h.Learn == nil {
		return h.Delay
	}
	return h.Learn.or(h.Delay)
}

// dueAt returns when the n-th hedge is due, counted from the first run's start.
func dueAt(n int, delay time.Duration) time.Duration {
	if delay > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return time.Duration(n) * delay
}
