package archtest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	promise  = regexp.MustCompile(`(?m)^- ([A-Z]+-\d\d) `)
	unproved = regexp.MustCompile(`(?m)^- not yet: ([A-Z]+-\d\d)$`)
	anyID    = regexp.MustCompile(`\b[A-Z]{3,5}-\d\d\b`)
)

// A guarantee counts when a test names it; docs/guarantees.md says which do not count yet.
func TestEachGuaranteeIsNamedByATestOrListedAsNotProved(t *testing.T) {
	named := map[string]string{}
	for _, folder := range modules(t) {
		for _, file := range goFiles(t, folder, true) {
			if !strings.HasSuffix(file, "_test.go") {
				continue
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range anyID.FindAllString(string(b), -1) {
				named[id] = file
			}
		}
	}
	page := read(t, "docs/guarantees.md")
	listed, promised := map[string]bool{}, map[string]bool{}
	for _, m := range unproved.FindAllStringSubmatch(page, -1) {
		listed[m[1]] = true
	}
	for _, m := range promise.FindAllStringSubmatch(page, -1) {
		promised[m[1]] = true
		switch _, ok := named[m[1]]; {
		case !ok && !listed[m[1]]:
			t.Errorf("docs/guarantees.md promises %s and no test names it: prove it, or list it as not yet proved", m[1])
		case ok && listed[m[1]]:
			t.Errorf("docs/guarantees.md lists %s as not yet proved, and %s names it: take it off the list", m[1], named[m[1]])
		}
	}
	for id, file := range named {
		if !promised[id] {
			t.Errorf("%s names %s, which docs/guarantees.md does not promise", file, id)
		}
	}
}
