package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxLines is where a file is asked whether it is two concepts.
const maxLines = 300

// generated is the line by which Go's tools know what no one writes.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func TestFilesHoldOneConcept(t *testing.T) {
	for _, folder := range modules(t) {
		for _, file := range goFiles(t, folder, true) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(b), "\n"); n > maxLines && !generated.Match(b) {
				t.Errorf("%s has %d lines, more than %d: is it two concepts? Give each its file", file, n, maxLines)
			}
		}
	}
}

func TestEveryPackageHasADoc(t *testing.T) {
	documented := map[string]bool{}
	for _, folder := range modules(t) {
		for _, file := range goFiles(t, folder, false) {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Dir(file)
			documented[dir] = documented[dir] || parsed.Doc != nil
		}
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no file has a package comment: say in a sentence what the package is for", dir)
		}
	}
}

// published are the packages whose exported names are read by users.
var published = []string{"events", "resilience", "resilience/resiliencetest", "httpres", "dashboards", "dashboards/console", "otelres", "otelres/resend", "promres", "slogres", "grpcres"}

func TestExportedNamesHaveADoc(t *testing.T) {
	for _, folder := range published {
		for _, file := range goFiles(t, folder, false) {
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if name, doc := exported(d); name != "" && doc == "" && !speaksForItself(name) {
					t.Errorf("%s: %s has no doc comment: say what it does, its units, its zero value, its errors", set.Position(d.Pos()), name)
				}
			}
		}
	}
}

// speaksForItself tells methods whose meaning an interface gives.
func speaksForItself(name string) bool {
	switch name {
	case "Error", "Unwrap", "Is", "As", "String", "EventName":
		return true
	}
	return false
}

func exported(d ast.Decl) (name, doc string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || receiverExported(d.Recv.List[0].Type)) {
			return d.Name.Name, d.Doc.Text()
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if t, ok := s.(*ast.TypeSpec); ok && t.Name.IsExported() {
				return t.Name.Name, d.Doc.Text() + t.Doc.Text()
			}
		}
	}
	return "", ""
}

func receiverExported(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiverExported(e.X)
	case *ast.IndexExpr:
		return receiverExported(e.X)
	case *ast.IndexListExpr:
		return receiverExported(e.X)
	case *ast.Ident:
		return e.IsExported()
	}
	return false
}
