package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// report writes the table of the clients.
func report(out io.Writer, clients []*client) {
	fmt.Fprintln(out, "\nBoth clients, the same load")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "client\tcalls\tsuccess\tp50\tp99\tsent\tattempts a call\treached the service\t")
	for _, c := range clients {
		_, sum := c.tally.all()
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%d\t%.2f\t%s\t\n", c.name, sum.calls, share(sum.succeeded, sum.calls),
			milliseconds(quantile(sum.durations, 0.5)), milliseconds(quantile(sum.durations, 0.99)), sum.sent,
			ratio(sum.sent, sum.calls), known(sum))
	}
	w.Flush()

	fmt.Fprintln(out, "\nBy phase")
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "phase\t")
	for _, c := range clients {
		fmt.Fprintf(w, "%s: calls\tsuccess\tp99\tsent\treached\t", c.name)
	}
	fmt.Fprintln(w)
	first, _ := clients[0].tally.all()
	for i, p := range first {
		fmt.Fprintf(w, "%s\t", p.phase)
		for _, c := range clients {
			if phases, _ := c.tally.all(); i < len(phases) {
				p := phases[i]
				fmt.Fprintf(w, "%d\t%s\t%s\t%d\t%s\t", p.calls, share(p.succeeded, p.calls), milliseconds(quantile(p.durations, 0.99)), p.sent, known(p))
			}
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	fmt.Fprintln(out, "A call counts in the phase in which it began; what it sent, in the phase in which it was sent, refused connections included.\nreached: requests that the service has seen.")
}

// verdict says what the pipeline was worth, and what it cost. It is for a whole incident.
func verdict(out io.Writer, bare, telltale *client) {
	phases, b := bare.tally.all()
	others, t := telltale.tally.all()
	fmt.Fprintf(out, "\nWorth: %s success, and %s requests sent: what retries add in the brownout, the open breaker spares in the outage.\n",
		points(ratio(t.succeeded, t.calls)-ratio(b.succeeded, b.calls)), fewer(t.sent, b.sent))
	fmt.Fprintf(out, "Cost: a p99 of %s instead of %s", milliseconds(quantile(t.durations, 0.99)), milliseconds(quantile(b.durations, 0.99)))
	for i, p := range phases {
		switch q := others[i]; p.phase {
		case "brownout":
			fmt.Fprintf(out, ", in the brownout %s instead of %s: retries wait as long as Retry-After asks",
				milliseconds(quantile(q.durations, 0.99)), milliseconds(quantile(p.durations, 0.99)))
		case "recovery":
			fmt.Fprintf(out, "; in the recovery %s success, until the breaker has probed", points(ratio(q.succeeded, q.calls)-ratio(p.succeeded, p.calls)))
		}
	}
	fmt.Fprintln(out, ".")
}

// points tells a difference of shares.
func points(d float64) string {
	if d < 0 {
		return fmt.Sprintf("%.1f points less", -100*d)
	}
	return fmt.Sprintf("%.1f points more", 100*d)
}

// fewer compares two numbers.
func fewer(n, than int) string {
	if n > than {
		return fmt.Sprintf("%.0f%% more", 100*(ratio(n, than)-1))
	}
	return fmt.Sprintf("%.0f%% fewer", 100*(1-ratio(n, than)))
}

// known is how many requests have reached the service, where it could be asked.
func known(c count) string {
	if !c.counted {
		return "-"
	}
	return fmt.Sprint(c.reached)
}

func share(part, all int) string {
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(all))
}

func ratio(part, all int) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }
