package main

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// panel is one picture of a dashboard.
type panel struct {
	Kind    kind
	Title   string
	Doc     string // for the person on call: what it shows, and what to do about it
	Unit    string
	Runbook string // a page of docs/runbooks
	Span    uint32 // of 24
	Height  uint32
	Queries []query
	Max     float64 // of the axis; 0: as it comes
	Warn    float64 // from here on it is amber, from Bad on red; 0: no thresholds. Bad below Warn: it falls
	Bad     float64
	Hide    []string // columns of a table
}

// kind is how a panel draws.
type kind int

const (
	lines kind = 1 + iota
	stacked
	number
	states
	rows
)

var source = common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}

const runbooks = "https://github.com/telltale-go/telltale/blob/main/docs/runbooks/"

func (p panel) links() []cog.Builder[dashboard.DashboardLink] {
	return []cog.Builder[dashboard.DashboardLink]{
		dashboard.NewDashboardLinkBuilder("Runbook").Type(dashboard.DashboardLinkTypeLink).Url(runbooks + p.Runbook + ".md").TargetBlank(true),
	}
}

// build makes Grafana's panel of it.
func (p panel) build() cog.Builder[dashboard.Panel] {
	switch p.Kind {
	case lines, stacked:
		return p.series()
	case number:
		return p.number()
	case states:
		return p.states()
	case rows:
		return p.table()
	}
	panic(fmt.Sprintf("panel %q has kind %d", p.Title, p.Kind))
}

func (p panel) series() cog.Builder[dashboard.Panel] {
	b := timeseries.NewPanelBuilder().Title(p.Title).Description(p.Doc).Datasource(source).Unit(p.Unit).Span(p.Span).Height(p.Height).
		Links(p.links()).Min(0).LineWidth(1).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom).ShowLegend(true)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
	if p.Kind == stacked {
		b = b.FillOpacity(30).Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
	}
	if p.Max > 0 {
		b = b.Max(p.Max)
	}
	if p.Warn != p.Bad {
		b = b.Thresholds(p.thresholds()).ThresholdsStyle(common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed))
	}
	for i, q := range p.Queries {
		b = b.WithTarget(q.overTime(i).Exemplar(p.Unit == "s"))
	}
	return b
}

func (p panel) number() cog.Builder[dashboard.Panel] {
	b := stat.NewPanelBuilder().Title(p.Title).Description(p.Doc).Datasource(source).Unit(p.Unit).Span(p.Span).Height(p.Height).
		Links(p.links()).GraphMode(common.BigValueGraphModeArea).ColorMode(common.BigValueColorModeValue).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
	if p.Warn != p.Bad {
		b = b.Thresholds(p.thresholds())
	}
	for i, q := range p.Queries {
		b = b.WithTarget(q.overTime(i))
	}
	return b
}

func (p panel) states() cog.Builder[dashboard.Panel] {
	b := statetimeline.NewPanelBuilder().Title(p.Title).Description(p.Doc).Datasource(source).Unit(p.Unit).Span(p.Span).Height(p.Height).
		Links(p.links()).MergeValues(true).ShowValue(common.VisibilityModeAuto).RowHeight(0.8).FillOpacity(80).Mappings(stateMappings())
	for i, q := range p.Queries {
		b = b.WithTarget(q.overTime(i))
	}
	return b
}

func (p panel) table() cog.Builder[dashboard.Panel] {
	hidden := map[string]any{"Time": true, "__name__": true, "job": true}
	for _, column := range p.Hide {
		hidden[column] = true
	}
	b := table.NewPanelBuilder().Title(p.Title).Description(p.Doc).Datasource(source).Unit(p.Unit).Span(p.Span).Height(p.Height).
		Links(p.links()).Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{})).Filterable(true).
		WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}}).
		WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{"excludeByName": hidden}})
	for i, q := range p.Queries {
		b = b.WithTarget(prometheus.NewDataqueryBuilder().RefId(refID(i)).Expr(shorthand.Replace(q.Expr)).LegendFormat(q.Legend).
			Datasource(source).Instant().Format(prometheus.PromQueryFormatTable))
	}
	return b
}

func (q query) overTime(i int) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().RefId(refID(i)).Expr(shorthand.Replace(q.Expr)).LegendFormat(shorthandLegend.Replace(q.Legend)).
		Datasource(source).Range()
}

func refID(i int) string { return string(rune('A' + i)) }

// thresholds colour what is worth a look. Where Bad is below Warn, low values are the bad ones.
func (p panel) thresholds() *dashboard.ThresholdsConfigBuilder {
	steps := []dashboard.Threshold{{Color: "green"}, {Color: "orange", Value: &p.Warn}, {Color: "red", Value: &p.Bad}}
	if p.Bad < p.Warn {
		steps = []dashboard.Threshold{{Color: "red"}, {Color: "orange", Value: &p.Bad}, {Color: "green", Value: &p.Warn}}
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}

// stateMappings name the numbers of breakerStates.
func stateMappings() []dashboard.ValueMapping {
	options := map[string]dashboard.ValueMappingResult{}
	for i, s := range []struct{ text, color string }{
		{"closed", "green"}, {"disabled", "blue"}, {"half-open", "yellow"}, {"open", "red"}, {"forced open", "purple"},
	} {
		options[fmt.Sprint(i)] = dashboard.ValueMappingResult{Text: &s.text, Color: &s.color, Index: cog.ToPtr(int32(i))}
	}
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: "value", Options: options}}}
}
