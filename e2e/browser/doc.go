// Package browser looks at the console (package dashboards/console) with a real browser, Chromium, while a real incident
// is played. Where there is no Chromium its tests skip and say so; .ci/run installs it.
package browser
