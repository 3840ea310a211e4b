package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"go.yaml.in/yaml/v3"
)

// project is compose.yaml, as docker compose reads it.
func project(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join("..", "..", "compose.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	p, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What is mounted exists, every image has a version, and nothing is open to the network.
func TestComposeFileIsComplete(t *testing.T) {
	versioned := regexp.MustCompile(`:v?\d+\.\d+`)
	for name, s := range project(t).Services {
		if !versioned.MatchString(s.Image) {
			t.Errorf("%s: image %s has no version", name, s.Image)
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is open to the network", name, p.Published)
			}
		}
		for _, v := range s.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s mounts what is not there: %v", name, err)
			}
			if !v.ReadOnly {
				t.Errorf("%s may write to %s", name, v.Source)
			}
		}
	}
}

// Prometheus's own reader takes the configuration, and it scrapes and asks what the compose file has.
func TestPrometheusFindsTheDemoAndTheRules(t *testing.T) {
	p := project(t)
	text, err := os.ReadFile(mounted(t, p, "prometheus", "/etc/prometheus/prometheus.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(string(text), promslog.NewNopLogger())
	if err != nil {
		t.Fatal(err)
	}
	if native := c.GlobalConfig.ScrapeNativeHistograms; native == nil || !*native {
		t.Error("native histograms are not scraped")
	}
	for _, pattern := range c.RuleFiles {
		rules := mounted(t, p, "prometheus", "/etc/prometheus/"+filepath.Dir(pattern))
		if found, err := filepath.Glob(filepath.Join(rules, filepath.Base(pattern))); err != nil || len(found) != 2 {
			t.Errorf("%s finds %v (%v), want the rules and the alerts", pattern, found, err)
		}
	}
	command := strings.Join(p.Services["demo"].Command, " ")
	if !strings.Contains(string(text), "demo:9464") || !strings.Contains(command, ":9464") {
		t.Errorf("Prometheus scrapes what nobody serves: %s", command)
	}
}

// The same by promtool. One that is older than Prometheus 3.8 does not know that native histograms are scraped by a setting.
func TestPromtoolTakesTheConfiguration(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool: Debian's package prometheus has it")
	}
	p, dir := project(t), t.TempDir()
	text, err := os.ReadFile(mounted(t, p, "prometheus", "/etc/prometheus/prometheus.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "rules"), os.DirFS(mounted(t, p, "prometheus", "/etc/prometheus/rules"))); err != nil {
		t.Fatal(err)
	}
	check := func(text []byte) (string, error) {
		file := filepath.Join(dir, "prometheus.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(promtool, "check", "config", file).CombinedOutput()
		return string(out), err
	}
	out, err := check(text)
	if strings.Contains(out, "field scrape_native_histograms not found") {
		out, err = check(regexp.MustCompile(`(?m)^ *scrape_native_histograms:.*\n`).ReplaceAll(text, nil))
	}
	if err != nil || strings.Count(out, "rules found") != 2 {
		t.Errorf("promtool: %v, want two files of rules\n%s", err, out)
	}
}

// Every data source is a service of the compose file, and the boards are where Grafana looks for them.
func TestGrafanaIsProvisioned(t *testing.T) {
	p := project(t)
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool `yaml:"isDefault"`
			JSONData                     struct {
				HTTPMethod                  string `yaml:"httpMethod"`
				TimeInterval                string `yaml:"timeInterval"`
				ExemplarTraceIDDestinations []struct {
					Name          string
					DatasourceUID string `yaml:"datasourceUid"`
				} `yaml:"exemplarTraceIdDestinations"`
			} `yaml:"jsonData"`
		}
	}
	strictly(t, mounted(t, p, "grafana", "/etc/grafana/provisioning/datasources/telltale.yaml"), &sources)
	uids := map[string]bool{}
	for _, s := range sources.Datasources {
		host, _, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
		if _, ok := p.Services[host]; !ok {
			t.Errorf("data source %s is at %s, which is no service", s.Name, s.URL)
		}
		uids[s.UID] = true
	}
	for _, s := range sources.Datasources {
		for _, d := range s.JSONData.ExemplarTraceIDDestinations {
			if !uids[d.DatasourceUID] || d.Name != "trace_id" {
				t.Errorf("an exemplar of %s leads from label %s to %s", s.Name, d.Name, d.DatasourceUID)
			}
		}
	}

	var boards struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Folder, Type string
			Options            struct{ Path string }
		}
	}
	strictly(t, mounted(t, p, "grafana", "/etc/grafana/provisioning/dashboards/telltale.yaml"), &boards)
	for _, b := range boards.Providers {
		if found, err := filepath.Glob(filepath.Join(mounted(t, p, "grafana", b.Options.Path), "*.json")); err != nil || len(found) != 3 {
			t.Errorf("Grafana finds the boards %v (%v), want three", found, err)
		}
	}
}

// mounted returns what a service sees at a path.
func mounted(t *testing.T, p *types.Project, service, path string) string {
	t.Helper()
	for _, v := range p.Services[service].Volumes {
		if v.Target == path {
			return v.Source
		}
	}
	t.Fatalf("%s has nothing mounted at %s", service, path)
	return ""
}

func strictly(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
