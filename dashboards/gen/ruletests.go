package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ruleTests is a file for promtool test rules: each scenario, scraped once a minute.
type ruleTests struct {
	RuleFiles          []string   `yaml:"rule_files"`
	EvaluationInterval string     `yaml:"evaluation_interval"`
	Tests              []ruleTest `yaml:"tests"`
}

type ruleTest struct {
	Name        string        `yaml:"name"`
	Interval    string        `yaml:"interval"`
	InputSeries []inputSeries `yaml:"input_series"`
	Expressions []exprTest    `yaml:"promql_expr_test"`
}

type inputSeries struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

type exprTest struct {
	Expr     string   `yaml:"expr"`
	EvalTime string   `yaml:"eval_time"`
	Samples  []sample `yaml:"exp_samples"`
}

type sample struct {
	Labels string `yaml:"labels"`
	Value  int    `yaml:"value"`
}

// scraped is how often a rule test's series have a value.
const scraped = time.Minute

func alertTests() ruleTests {
	file := ruleTests{RuleFiles: []string{"../rules.yaml", "../alerts.yaml"}, EvaluationInterval: "30s"}
	for i, s := range scenarios {
		file.Tests = append(file.Tests, s.test(i))
	}
	return file
}

// test asks which alerts fire: before the trouble none, in time the scenario's own, and in all of the time no other.
func (s scenario) test(number int) ruleTest {
	t := ruleTest{Interval: spell(scraped), Name: fmt.Sprintf("%d: nothing fires", number)}
	all := s.all()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		name, labels := target(key)
		pairs := make([]string, 0, len(labels))
		for _, label := range slices.Sorted(maps.Keys(labels)) {
			pairs = append(pairs, fmt.Sprintf("%s=%q", label, labels[label]))
		}
		t.InputSeries = append(t.InputSeries, inputSeries{name + "{" + strings.Join(pairs, ",") + "}", sequence(all[key])})
	}
	names := []sample{}
	if s.alert != "" {
		t.Name = fmt.Sprintf("%d: %s fires within %s", number, s.alert, spell(s.within))
		names = []sample{{fmt.Sprintf("{alertname=%q}", s.alert), 1}}
		t.Expressions = []exprTest{{firing, spell(begins - scraped), []sample{}}, {firing, spell(begins + s.within), names}}
	}
	t.Expressions = append(t.Expressions, exprTest{fired, spell(lasts), names})
	return t
}

const (
	firing = `group by (alertname) (ALERTS{alertstate="firing"})`
	fired  = `group by (alertname) (max_over_time(ALERTS{alertstate="firing"}[1h]))`
)

// target returns the name and the labels of a series as Prometheus scraped it.
func target(key string) (name string, labels map[string]string) {
	name, list, _ := strings.Cut(strings.TrimSuffix(shorthand.Replace(key), "}"), "{")
	labels = map[string]string{"job": "orders", "instance": "orders-0:9090"}
	for _, pair := range strings.Split(list, ",") {
		label, v, _ := strings.Cut(pair, "=")
		labels[label] = v
	}
	return name, labels
}

// sequence spells the values as promtool reads them: runs of one step each, such as 0x10 12+12x29.
func sequence(v value) string {
	at := func(i int) float64 { return v(time.Duration(i) * scraped) }
	var runs []string
	for i, last := 0, int(lasts/scraped); i <= last; {
		end := i
		for end < last && at(end+1)-at(end) == at(i+1)-at(i) {
			end++
		}
		run := fmt.Sprint(at(i))
		if step := at(i+1) - at(i); end > i && step != 0 {
			run += fmt.Sprintf("%+g", step)
		}
		runs = append(runs, run+"x"+strconv.Itoa(end-i))
		i = end + 1
	}
	return strings.Join(runs, " ")
}

// spell writes whole minutes as Prometheus does.
func spell(d time.Duration) string { return strconv.Itoa(int(d/time.Minute)) + "m" }
