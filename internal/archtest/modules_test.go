package archtest

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// standAlone are modules that are no part of the workspace: they pin tools.
var standAlone = []string{"tools"}

func modules(t *testing.T) []string {
	t.Helper()
	var folders []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		if d.Name() == "go.mod" {
			folder, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			folders = append(folders, filepath.ToSlash(folder))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return folders
}

func TestEveryModuleIsInTheWorkspace(t *testing.T) {
	var used []string
	for _, m := range regexp.MustCompile(`(?m)^\s+(\.\S*)$`).FindAllStringSubmatch(read(t, "go.work"), -1) {
		used = append(used, filepath.ToSlash(filepath.Clean(m[1])))
	}
	for _, folder := range modules(t) {
		if slices.Contains(standAlone, folder) {
			continue
		}
		if !slices.Contains(used, folder) {
			t.Errorf("go.work does not use ./%s: add it, or `go test ./...` passes it by", folder)
		}
	}
}

func TestEveryModuleFindsItsSiblingsWithoutTheWorkspace(t *testing.T) {
	requires := regexp.MustCompile(`(?m)(` + regexp.QuoteMeta(module) + `\S*) v`)
	for _, folder := range modules(t) {
		text := read(t, filepath.Join(folder, "go.mod"))
		for _, m := range requires.FindAllStringSubmatch(text, -1) {
			sibling := strings.TrimPrefix(strings.TrimPrefix(m[1], module), "/")
			want, err := filepath.Rel(folder, filepath.FromSlash(or(sibling, ".")))
			if err != nil {
				t.Fatal(err)
			}
			replace := regexp.MustCompile(regexp.QuoteMeta(m[1]) + ` => ` + regexp.QuoteMeta(filepath.ToSlash(want)) + `/?(\s|$)`)
			if !replace.MatchString(text) {
				t.Errorf("%s/go.mod requires %s and does not replace it by %s: it would not build with GOWORK=off", folder, m[1], want)
			}
		}
	}
}

func or(s, def string) string {
	if s == "" {
		return def
	}
	return s
}
