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
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n| | ns | ratio | CPU ns | allocs | bytes |\n|---|--:|--:|--:|--:|--:|\n", title, w.doc)
	base := time.Duration(0)
	for _, r := range all {
		if r.role == ours {
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

// peers lists the modules that the program is built with, ours excepted.
func peers() (all []string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return []string{"unknown"}
	}
	for _, m := range info.Deps {
		if !strings.HasPrefix(m.Path, "github.com/telltale-go/") && !strings.Contains(m.Path, "bits-and-blooms") {
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
