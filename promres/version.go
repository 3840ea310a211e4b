package promres

import "runtime/debug"

const modulePath = "github.com/telltale-go/telltale"

// version returns the version of the module that is built in, "unknown" where the binary does not tell.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != modulePath {
			continue
		}
		if m.Replace != nil && m.Replace.Version != "" {
			return m.Replace.Version
		}
		return m.Version
	}
	return "unknown"
}
