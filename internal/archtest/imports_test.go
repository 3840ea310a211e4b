package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/telltale-go/telltale"

const root = "../.."

// rule says what the files of a folder, tests excepted, may import. The standard library is allowed but for what denied
// names.
type rule struct {
	folder  string
	allowed []string // prefixes of import paths
	denied  []string // prefixes, of the standard library's too
	why     string
}

var rules = []rule{
	{"events", nil, []string{"net/http", "log"}, "the bus depends on nothing, so that anything may depend on it"},
	{"resilience/resiliencetest", []string{module + "/events", module + "/resilience"}, []string{"net/http", "log"},
		"what helps to test the primitives knows them and the bus alone"},
	{"resilience", []string{module + "/events", module + "/resilience", module + "/internal/"}, []string{"net/http", "log"},
		"the primitives know no telemetry and no protocol: adapters do"},
	{"httpres", []string{module + "/events", module + "/resilience", module + "/internal/"}, []string{"log/slog"},
		"the HTTP transport is part of the core module, which has no dependency; log is for a handler's panic alone, where net/http logs it"},
	{"dashboards/console", []string{module + "/events", module + "/resilience"}, []string{"log"},
		"the console is part of the core module, which has no dependency; it imports package resilience for its ConfigError"},
	{"otelres", []string{module + "/events", module + "/internal/", "go.opentelemetry.io/otel"}, []string{"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters"},
		"an adapter imports what its name says: OpenTelemetry's API, neither its SDK nor an exporter"},
	{"otelres/resend", []string{module + "/resilience", "go.opentelemetry.io/otel"}, []string{"go.opentelemetry.io/otel/exporters"},
		"a span processor is of OpenTelemetry's SDK; that is why it is offered apart"},
	{"promres", []string{module + "/events", module + "/internal/", "github.com/prometheus/"}, nil, "an adapter imports what its name says"},
	{"grpcres", []string{module + "/events", module + "/resilience", module + "/httpres", module + "/internal/", "google.golang.org/grpc",
		"google.golang.org/protobuf", "google.golang.org/genproto/googleapis/rpc"}, []string{"log"}, "an adapter imports what its name says"},
	{"slogres", []string{module + "/events", "github.com/samber/slog-multi"}, nil, "an adapter imports what its name says"},
}

func TestPackagesImportOnlyWhatTheirNameSays(t *testing.T) {
	for _, r := range rules {
		files := goFiles(t, r.folder, false)
		if len(files) == 0 {
			t.Errorf("%s: no Go file found: is the rule's folder right?", r.folder)
		}
		for _, file := range files {
			if ruleOf(file).folder != r.folder {
				continue // it has a rule of its own
			}
			for _, path := range imports(t, file) {
				if !r.allows(path) {
					t.Errorf("%s imports %q, which %s must not: %s", file, path, r.folder, r.why)
				}
			}
		}
	}
}

// ruleOf returns the rule of the nearest folder that has one.
func ruleOf(file string) (nearest rule) {
	for _, r := range rules {
		if strings.HasPrefix(file, filepath.Join(root, r.folder)+string(filepath.Separator)) && len(r.folder) > len(nearest.folder) {
			nearest = r
		}
	}
	return nearest
}

func (r rule) allows(path string) bool {
	within := func(prefixes []string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool {
			return path == strings.TrimSuffix(p, "/") || strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/")
		})
	}
	if within(r.denied) {
		return false
	}
	standard := !strings.Contains(strings.SplitN(path, "/", 2)[0], ".")
	return standard || within(r.allowed)
}

func TestTheCoreHasNoRequirement(t *testing.T) {
	for _, line := range strings.Split(read(t, "go.mod"), "\n") {
		switch word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word {
		case "", "module", "go", "//":
		default:
			t.Errorf("go.mod has %q: the core module requires nothing; what needs a dependency is a module of its own", line)
		}
	}
	if sum := read(t, "go.sum"); sum != "" {
		t.Errorf("go.sum is not empty: the core module requires nothing")
	}
}

// goFiles lists the Go files of a folder and those below that belong to the same module.
func goFiles(t *testing.T, folder string, tests bool) []string {
	t.Helper()
	var files []string
	top := filepath.Join(root, folder)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != top {
				return filepath.SkipDir
			}
			if name := d.Name(); name == "testdata" || strings.HasPrefix(name, ".") && name != ".." {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") && (tests || !strings.HasSuffix(path, "_test.go")) {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func imports(t *testing.T, file string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, i := range parsed.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
