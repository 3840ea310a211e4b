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
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%d\t%.2f\t%d\t\n", c.name, sum.calls, share(sum.succeeded, sum.calls),
			milliseconds(quantile(sum.durations, 0.5)), milliseconds(quantile(sum.durations, 0.99)), sum.sent,
			ratio(sum.sent, sum.calls), sum.reached)
	}
	w.Flush()

	fmt.Fprintln(out, "\nBy phase")
	w = tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "phase\t")
	for _, c := range clients {
		fmt.Fprintf(w, "%s: success\tp99\tsent\treached\t", c.name)
	}
	fmt.Fprintln(w)
	first, _ := clients[0].tally.all()
	for i, p := range first {
		fmt.Fprintf(w, "%s\t", p.phase)
		for _, c := range clients {
			if phases, _ := c.tally.all(); i < len(phases) {
				p := phases[i]
				fmt.Fprintf(w, "%s\t%s\t%d\t%d\t", share(p.succeeded, p.calls), milliseconds(quantile(p.durations, 0.99)), p.sent, p.reached)
			}
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	fmt.Fprintln(out, "sent: attempts that left the client, refused connections included; reached: requests that the service has seen")
	if len(clients) == 2 {
		verdict(out, clients[0], clients[1])
	}
}

// verdict says in two lines what the pipeline was worth, and what it cost.
func verdict(out io.Writer, bare, telltale *client) {
	_, b := bare.tally.all()
	_, t := telltale.tally.all()
	if b.calls == 0 || t.calls == 0 || b.sent == 0 {
		return
	}
	fmt.Fprintf(out, "\nWorth: %+.1f points of success, and %.0f%% fewer requests sent: what the retries add in the brownout, the open breaker spares in the outage.\n",
		100*(ratio(t.succeeded, t.calls)-ratio(b.succeeded, b.calls)), 100*(1-ratio(t.sent, b.sent)))
	fmt.Fprintf(out, "Cost: the slowest calls take %s instead of %s, since they wait as long as Retry-After asks; and after the restart, up to one cooldown.\n",
		milliseconds(quantile(t.durations, 0.99)), milliseconds(quantile(b.durations, 0.99)))
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
