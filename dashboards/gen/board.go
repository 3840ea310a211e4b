package main

//lint:file-ignore SA1019 the classic JSON is what every Grafana imports and provisions; the second version needs Grafana 12

import (
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// board is one dashboard.
type board struct {
	File, UID, Title, Doc string
	Variables             []variable
	Annotations           []annotation
	Rows                  []row
}

type row struct {
	Title  string
	Panels []panel
}

// variable is a choice on top of a dashboard, of the values of a label.
type variable struct{ Name, Label, Values string }

// annotation marks moments on every panel.
type annotation struct{ Name, Expr, Title, Color string }

// targets are the variables that every dashboard begins with.
var targets = []variable{
	{"job", "Job", `label_values(resilience_build_info, job)`},
	{"instance", "Instance", `label_values(resilience_build_info{job=~"$job"}, instance)`},
}

// shorthandLegend spells the labels of a legend out.
var shorthandLegend = strings.NewReplacer(
	"<pipeline>", "{{resilience_pipeline_name}}",
	"<layer>", "{{resilience_layer_name}}",
	"<outcome>", "{{resilience_outcome}}",
	"<kind>", "{{resilience_attempt_kind}}",
	"<reason>", "{{resilience_reason}}",
	"<wait>", "{{resilience_wait_kind}}",
	"<state>", "{{resilience_circuit_breaker_state}}",
	"<role>", "{{resilience_singleflight_role}}",
	"<subscriber>", "{{resilience_bus_subscriber}}",
)

// tag finds our dashboards, for the menu that leads from one to the other.
const tag = "resilience"

func (b board) build() (dashboard.Dashboard, error) {
	d := dashboard.NewDashboardBuilder(b.Title).Uid(b.UID).Description(b.Doc).Tags([]string{tag}).Time("now-1h", "now").Refresh("30s").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).Timezone(common.TimeZoneBrowser).
		Link(dashboard.NewDashboardLinkBuilder("Resilience").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{tag}).KeepTime(true).IncludeVars(true).AsDropdown(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus"))
	for _, v := range append(append([]variable{}, targets...), b.Variables...) {
		d = d.WithVariable(dashboard.NewQueryVariableBuilder(v.Name).Label(v.Label).Datasource(source).
			Query(dashboard.StringOrMap{String: cog.ToPtr(shorthand.Replace(v.Values))}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).Multi(true).IncludeAll(true).AllValue(".+").
			Current(dashboard.VariableOption{Text: dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
				Value: dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}}}))
	}
	for _, a := range b.Annotations {
		d = d.Annotation(dashboard.NewAnnotationQueryBuilder().Name(a.Name).Datasource(source).Enable(true).IconColor(a.Color).
			Expr(shorthand.Replace(a.Expr)).TitleFormat(shorthandLegend.Replace(a.Title)).Step("15s"))
	}
	for _, r := range b.Rows {
		d = d.WithRow(dashboard.NewRowBuilder(r.Title))
		for _, p := range r.Panels {
			d = d.WithPanel(p.build())
		}
	}
	return d.Build()
}
