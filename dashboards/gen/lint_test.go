package main

//lint:file-ignore SA1019 the classic JSON is what every Grafana imports and provisions; the second version needs Grafana 12

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"go.yaml.in/yaml/v3"
)

// What is committed is what the generator writes.
func TestFilesAreCurrent(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	again, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("dashboards/%s is not current (%v): make gen", name, err)
		}
		if !bytes.Equal(want, again[name]) {
			t.Errorf("%s differs from run to run", name)
		}
	}
	for _, folder := range []string{"grafana", "prometheus", "prometheus/tests", "kubernetes"} {
		entries, err := os.ReadDir(filepath.Join("..", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if _, ok := files[folder+"/"+e.Name()]; !ok && !e.IsDir() {
				t.Errorf("dashboards/%s/%s is written by nobody", folder, e.Name())
			}
		}
	}
}

// What Grafana reads, checked as far as a program can: what the SDK's strict reader lets pass is checked by hand.
func TestDashboardsAreWellFormed(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]bool{}
	for _, b := range boards() {
		var d dashboard.Dashboard
		for _, err := range []error{d.UnmarshalJSONStrict(files["grafana/"+b.File]), d.Validate()} {
			var found cog.BuildErrors // the SDK returns an empty list, which is not nil, where nothing is wrong
			if err != nil && (!errors.As(err, &found) || len(found) > 0) {
				t.Errorf("%s: %v", b.File, err)
			}
		}
		if d.Uid == nil || *d.Uid == "" || uids[*d.Uid] || d.Title == nil || d.Description == nil {
			t.Errorf("%s: a dashboard has a title, a description and a uid of its own", b.File)
		} else {
			uids[*d.Uid] = true
		}
	}
}

type panelText struct {
	Title, Description, Type string
	Links                    []struct{ URL string }
	GridPos                  struct{ H, W int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []struct {
		RefID string
		Expr  string
	}
	Panels []panelText
}

// DASH-01
func TestEveryPanelExplainsItself(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"timeseries", "stat", "state-timeline", "table"}
	for _, b := range boards() {
		var d struct{ Panels []panelText }
		if err := json.Unmarshal(files["grafana/"+b.File], &d); err != nil {
			t.Fatal(err)
		}
		titles := map[string]bool{}
		n := 0
		for _, p := range d.Panels {
			for _, p := range append([]panelText{p}, p.Panels...) {
				if p.Type == "row" {
					continue
				}
				n++
				if p.Title == "" || titles[p.Title] || len(p.Description) < 30 || p.FieldConfig.Defaults.Unit == "" || !slices.Contains(known, p.Type) ||
					len(p.Targets) == 0 || p.GridPos.W == 0 || p.GridPos.H == 0 {
					t.Errorf("%s: panel %q (%s): it has a title of its own, a description, a unit, a known type, a size and queries", b.File, p.Title, p.Type)
				}
				titles[p.Title] = true
				if len(p.Links) != 1 {
					t.Errorf("%s: panel %q has no runbook", b.File, p.Title)
				} else if !runbookExists(p.Links[0].URL) {
					t.Errorf("%s: panel %q: %s does not exist", b.File, p.Title, p.Links[0].URL)
				}
			}
		}
		if n == 0 {
			t.Errorf("%s has no panels", b.File)
		}
	}
}

// DASH-02
func TestEveryAlertHasItsTextsAndItsRunbook(t *testing.T) {
	for _, r := range alerts.spelled().Groups[0].Rules {
		if r.Annotations["summary"] == "" || len(r.Annotations["description"]) < 40 || !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) {
			t.Errorf("%s: an alert has a summary, a description and a severity", r.Alert)
		}
		if !runbookExists(r.Annotations["runbook_url"]) {
			t.Errorf("%s: %s does not exist", r.Alert, r.Annotations["runbook_url"])
		}
		text, err := os.ReadFile(filepath.Join("../../docs/runbooks", strings.TrimPrefix(r.Annotations["runbook_url"], runbooks)))
		if err != nil || !strings.Contains(string(text), r.Alert) {
			t.Errorf("%s: its runbook does not name it (%v)", r.Alert, err)
		}
	}
}

func runbookExists(url string) bool {
	name, ok := strings.CutPrefix(url, runbooks)
	_, err := os.Stat(filepath.Join("../../docs/runbooks", name))
	return ok && err == nil
}

func TestManifestsAreKubernetesObjects(t *testing.T) {
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range files {
		if !strings.HasPrefix(name, "kubernetes/") {
			continue
		}
		dec := yaml.NewDecoder(bytes.NewReader(b))
		for {
			var o struct {
				APIVersion string `yaml:"apiVersion"`
				Kind       string
				Metadata   struct{ Name string }
				Data       map[string]string
			}
			if err := dec.Decode(&o); err != nil {
				break
			}
			if o.APIVersion == "" || o.Kind == "" || o.Metadata.Name == "" {
				t.Errorf("%s: an object has an apiVersion, a kind and a name, got %+v", name, o)
			}
			for file, text := range o.Data {
				if text != string(files["grafana/"+file]) {
					t.Errorf("%s: %s is not the dashboard", name, file)
				}
			}
		}
	}
}

// The reader that TestDashboardsAreWellFormed trusts does find what Grafana would not understand.
func TestStrictReaderFindsUnknownFields(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	raw := files["grafana/"+breakers.File]
	wrong := bytes.Replace(raw, []byte(`"mergeValues"`), []byte(`"mergeValuez"`), 1)
	var d dashboard.Dashboard
	var found cog.BuildErrors
	if err := d.UnmarshalJSONStrict(wrong); bytes.Equal(raw, wrong) || !errors.As(err, &found) || len(found) == 0 {
		t.Errorf("an unknown option is read without an error: %v", err)
	}
}
