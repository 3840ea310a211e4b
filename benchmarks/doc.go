// Command benchmarks has the same work done by Telltale and by its peers, side by side in one run, and prints what each
// costs: make bench-peers. Every piece of work is checked to have been done.
package main
