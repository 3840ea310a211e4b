// Package examples is the module of Telltale's examples: stories, one situation each, and demo, the main job on real
// traffic.
package examples
