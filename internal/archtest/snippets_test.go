package archtest

import (
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	snippet   = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	storyLink = regexp.MustCompile(`\]\((?:\.\./)*(examples/[\w/]+\.go)\)`)
)

// Go snippets of the README and the guides are taken from what compiles and runs: the same lines stand, one after the
// other, in a file under examples. Where the text before a snippet links to a file there, they stand in that one, and so
// does what is printed below, as a comment. Decisions are history and are left alone.
func TestSnippetsAreCompiled(t *testing.T) {
	compiled, printed := map[string]string{}, map[string]string{}
	for _, file := range slices.Concat(goFiles(t, "examples", true), goFiles(t, "examples/clients", true)) {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		name = filepath.ToSlash(name)
		compiled[name] = plain(read(t, name))
		printed[name] = strings.ReplaceAll(compiled[name], "\n// ", "\n")
	}
	for _, page := range guides(t) {
		text, from, story := read(t, page), 0, ""
		for _, at := range snippet.FindAllStringSubmatchIndex(text, -1) {
			language, block := text[at[2]:at[3]], text[at[4]:at[5]]
			links := storyLink.FindAllStringSubmatch(text[from:at[0]], -1)
			from = at[1]
			switch {
			case len(links) > 0:
				story = links[len(links)-1][1]
			case language == "go":
				story = ""
			}
			switch {
			case language == "go" && !stands(compiled, story, block):
				t.Errorf("%s has a snippet whose lines are not in %s: copy them from there, or write the story first\n%s",
					page, or(story, "any file under examples"), block)
			case language == "" && story != "" && !stands(printed, story, block):
				t.Errorf("%s says that %s prints what its // Output does not: copy it from there\n%s", page, story, block)
			}
		}
	}
}

// stands tells whether the lines of a block stand in a file, or, without a name, in any.
func stands(sources map[string]string, name, block string) bool {
	lines := plain(block)
	if name != "" {
		return strings.Contains(sources[name], lines)
	}
	for _, source := range sources {
		if strings.Contains(source, lines) {
			return true
		}
	}
	return false
}

// A story without an output is compiled and never run.
func TestEveryStoryHasOutput(t *testing.T) {
	for _, file := range goFiles(t, "examples/stories", true) {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range doc.Examples(parsed) {
			if e.Output == "" && !e.EmptyOutput {
				t.Errorf("%s: Example%s has no // Output comment: say what the composition is for in numbers", file, e.Name)
			}
			if e.Doc == "" {
				t.Errorf("%s: Example%s has no comment: say in which situation it is for, and when it is not", file, e.Name)
			}
		}
	}
}

// guides are the pages whose snippets users copy.
func guides(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == "decisions" {
			return filepath.SkipDir
		}
		if name, err := filepath.Rel(root, path); err == nil && filepath.Ext(path) == ".md" {
			pages = append(pages, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// plain is a source without its indentation and blank lines, each line between two line feeds.
func plain(source string) string {
	b := strings.Builder{}
	b.WriteByte('\n')
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	return b.String()
}
