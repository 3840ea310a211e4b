package main

// ruleFile is a file of rules, as Prometheus reads it.
type ruleFile struct {
	Groups []ruleGroup `yaml:"groups"`
}

type ruleGroup struct {
	Name  string `yaml:"name"`
	Rules []rule `yaml:"rules"`
}

// rule records an expression or raises an alert.
type rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	KeepFiring  string            `yaml:"keep_firing_for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// recording rules are named level:metric:operations.
var recording = ruleFile{Groups: []ruleGroup{{Name: "resilience.rules", Rules: []rule{
	{Record: "job_pipeline:resilience_executions:rate5m",
		Expr: `sum by (job, <pipeline>) (rate(resilience_executions_total[5m]))`},
	{Record: "job_pipeline_outcome:resilience_executions:rate5m",
		Expr: `sum by (job, <pipeline>, <outcome>) (rate(resilience_executions_total[5m]))`},
	{Record: "job_pipeline:resilience_attempts:rate5m",
		Expr: `sum by (job, <pipeline>) (rate(resilience_attempts_total[5m]))`},
	{Record: "job_pipeline:resilience_amplification:ratio_rate5m",
		Expr: `job_pipeline:resilience_attempts:rate5m / (job_pipeline:resilience_executions:rate5m > 0)`},
	{Record: "job_pipeline:resilience_success:ratio_rate5m",
		Expr: `sum by (job, <pipeline>) (job_pipeline_outcome:resilience_executions:rate5m{<outcome>="success"}) / (sum by (job, <pipeline>) (job_pipeline_outcome:resilience_executions:rate5m{<outcome>!="canceled"}) > 0)`},
	{Record: "job_pipeline:resilience_rejected:ratio_rate5m",
		Expr: `sum by (job, <pipeline>) (job_pipeline_outcome:resilience_executions:rate5m{<outcome>="rejected"}) / (job_pipeline:resilience_executions:rate5m > 0)`},
	{Record: "job_pipeline_layer_reason:resilience_rejections:rate5m",
		Expr: `sum by (job, <pipeline>, <layer>, <reason>) (rate(resilience_rejections_total[5m]))`},
	{Record: "job_layer_state:resilience_circuit_breaker_state_time:ratio_rate5m",
		Expr: `sum by (job, <layer>, <state>) (rate(resilience_circuit_breaker_state_time_seconds_total[5m])) / on (job, <layer>) group_left sum by (job, <layer>) (rate(resilience_circuit_breaker_state_time_seconds_total[5m]))`},
}}}}

// spelled returns the file with its expressions spelled out.
func (f ruleFile) spelled() ruleFile {
	out := ruleFile{}
	for _, g := range f.Groups {
		all := make([]rule, len(g.Rules))
		for i, r := range g.Rules {
			r.Expr = shorthand.Replace(r.Expr)
			for _, texts := range []*map[string]string{&r.Annotations} {
				spelled := map[string]string{}
				for key, text := range *texts {
					spelled[key] = shorthandAlert.Replace(text)
				}
				if len(spelled) > 0 {
					*texts = spelled
				}
			}
			all[i] = r
		}
		out.Groups = append(out.Groups, ruleGroup{g.Name, all})
	}
	return out
}
