// Package version tells which version of Telltale is built in.
package version

import (
	"runtime/debug"
	"slices"
)

// Built returns the version of the core module that is built in, "unknown" where the binary does not tell.
func Built() string {
	const core = "github.com/telltale-go/telltale"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	modules := append(slices.Clone(info.Deps), &info.Main)
	i := slices.IndexFunc(modules, func(m *debug.Module) bool { return m.Path == core })
	switch {
	case i < 0:
		return "unknown"
	case modules[i].Replace != nil && modules[i].Replace.Version != "":
		return modules[i].Replace.Version
	}
	return modules[i].Version
}
