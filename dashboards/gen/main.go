package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"
)

func main() {
	dir := flag.String("dir", "..", "the `folder` that the files are written to")
	flag.Parse()
	files, err := generate()
	if err == nil {
		err = write(*dir, files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func boards() []board { return []board{overview, pipelines, breakers} }

// generate returns what is to be written, by path.
func generate() (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, b := range boards() {
		d, err := b.build()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.File, err)
		}
		if files["grafana/"+b.File], err = asJSON(d); err != nil {
			return nil, fmt.Errorf("%s: %w", b.File, err)
		}
	}
	for name, v := range map[string]any{
		"prometheus/rules.yaml": recording.spelled(), "prometheus/alerts.yaml": alerts.spelled(), "prometheus/tests/alerts.yaml": alertTests(),
		"kubernetes/rules.yaml": prometheusRule(), "kubernetes/servicemonitor.yaml": serviceMonitor(),
	} {
		b, err := asYAML(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = b
	}
	maps, err := configMaps(files)
	if err != nil {
		return nil, err
	}
	files["kubernetes/dashboards.yaml"] = maps
	return files, nil
}

func asJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// generated tells readers where to change a file.
const generated = "# Written by dashboards/gen: change that, and run make gen.\n"

func asYAML(docs ...any) ([]byte, error) {
	b := bytes.NewBufferString(generated)
	e := yaml.NewEncoder(b)
	e.SetIndent(2)
	for _, d := range docs {
		if err := e.Encode(d); err != nil {
			return nil, err
		}
	}
	err := e.Close()
	return b.Bytes(), err
}

func write(dir string, files map[string][]byte) error {
	for name, b := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}
