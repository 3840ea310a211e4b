package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// page writes the results as docs/benchmarks.md has them.
func page(results [][]result, sizes []size, s settings) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Benchmarks

Written by `+"`make bench-peers`"+`: the same work, done by Telltale and by its peers in one run. All contestants of a table take turns, in %d rounds of about %v each,
in a new order each time; the medians count, and every piece of work is checked to have been done. Ratios are worth more than nanoseconds: those are of one machine.

%s- peers: %s

A ratio above 1 is how many times as much a peer takes as Telltale.
`, s.rounds, s.round, machine(), strings.Join(peers(), ", "))
	for _, all := range results {
		writeTable(&b, all)
	}
	b.WriteString("\n## memory of a breaker with a time window, all in\n\n| | bytes | ratio |\n|---|--:|--:|\n")
	for _, z := range sizes {
		fmt.Fprintf(&b, "| %s | %.0f | %.2f |\n", z.name, z.bytes, z.bytes/sizes[0].bytes)
	}
	return b.String()
}

func writeTable(b *strings.Builder, all []result) {
	w := workloads[slices.IndexFunc(workloads, func(w workload) bool { return w.name == all[0].workload })]
	title := w.name
	if all[0].goroutines > 1 {
		title += fmt.Sprintf(", %d goroutines", all[0].goroutines)
	}
	if w.exchange {
		writeExchange(b, title, w.doc, all)
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n| | ns | ratio | CPU ns | allocs | bytes |\n|---|--:|--:|--:|--:|--:|\n", title, w.doc)
	base := time.Duration(0)
	for _, r := range all {
		if r.role == ours && base == 0 {
			base = r.wall
		}
	}
	for _, r := range all {
		ratio := ""
		if base > 0 {
			ratio = fmt.Sprintf("%.2f", float64(r.wall)/float64(base))
		}
		fmt.Fprintf(b, "| %s | %d | %s | %d | %.1f | %.0f |\n", r.name, r.wall.Nanoseconds(), ratio, r.cpu.Nanoseconds(), r.allocs, r.bytes)
	}
}

// writeExchange tells of work over the network, of which most is the network's: what counts is what each adds to the floor.
// Of the time that is told by the piece in the middle: a mean tells of the machine's other work.
func writeExchange(b *strings.Builder, title, doc string, all []result) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n| | p50 µs | added µs | p99 µs | CPU µs | a second | allocs | added | bytes | added |\n"+
		"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n", title, doc)
	bare := all[slices.IndexFunc(all, func(r result) bool { return r.role == floor })]
	for _, r := range all {
		added := func(v, base float64, digits int) string {
			if r.role == floor {
				return ""
			}
			return fmt.Sprintf("%+.*f", digits, v-base)
		}
		fmt.Fprintf(b, "| %s | %.1f | %s | %.1f | %.1f | %.0f | %.1f | %s | %.0f | %s |\n", r.name,
			micros(r.p50), added(micros(r.p50), micros(bare.p50), 1), micros(r.p99), micros(r.cpu), float64(time.Second)/float64(r.wall),
			r.allocs, added(r.allocs, bare.allocs, 1), r.bytes, added(r.bytes, bare.bytes, 0))
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// peerModules are whose work ours is measured beside.
var peerModules = []string{
	"github.com/avast/retry-go/v5", "github.com/cenkalti/backoff/v6", "github.com/eapache/go-resiliency", "github.com/failsafe-go/failsafe-go",
	"github.com/hashicorp/go-retryablehttp", "github.com/sethvargo/go-retry", "github.com/sony/gobreaker/v2", "golang.org/x/sync",
	"golang.org/x/time", "google.golang.org/grpc", "resenje.org/singleflight",
}

// peers lists them with the versions that the program is built with.
func peers() (all []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return []string{"unknown"}
	}
	for _, m := range info.Deps {
		if slices.Contains(peerModules, m.Path) {
			all = append(all, m.Path+" "+m.Version)
		}
	}
	return all
}

// machine is what the figures are of.
func machine() string {
	return fmt.Sprintf("- machine: %s, %d CPUs, %s/%s\n- Go: %s\n- date: %s\n",
		cpuName(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), time.Now().UTC().Format(time.DateOnly))
}

// cpuName is what the system says of the processor.
func cpuName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}
