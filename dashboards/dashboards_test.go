package dashboards_test

import (
	"fmt"
	"io/fs"

	"github.com/telltale-go/telltale/dashboards"
)

func Example() {
	_ = fs.WalkDir(dashboards.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			fmt.Println(path)
		}
		return err
	})
	// Output:
	// grafana/breakers.json
	// grafana/overview.json
	// grafana/pipeline.json
	// kubernetes/dashboards.yaml
	// kubernetes/rules.yaml
	// kubernetes/servicemonitor.yaml
	// prometheus/alerts.yaml
	// prometheus/rules.yaml
}
