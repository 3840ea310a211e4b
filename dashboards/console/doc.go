// Package console is a live page of the pipelines of a process: their layers as a picture, breakers with their state and
// its last minutes, rates and latency, the last events. It is one [net/http.Handler] without dependencies, and read-only:
//
//	http.Handle("/debug/resilience/", console.Handler(events.Default()))
//
// What happens inside calls is listened to only while somebody looks: while a page is open, and for a quarter of a minute
// after a page or a JSON document was fetched. The sources and the transitions of breakers are always kept, in bounded
// memory, so that the timeline has the past. No call ever waits for a browser.
//
// # Resources
//
// All answer to GET and HEAD, by the last part of their path, so that the console works under any prefix:
//
//	/                the page; it works without scripts, too
//	/state.json      pipelines, layers, breakers, limiters, budgets, rates and latency
//	/events.json     the last events; ?pipeline=, ?event=, ?severity= (at least) and ?after= (an id) filter
//	/stream          server-sent events for the page: "state" each second, "event" as they come
//
// The page shows names, settings and types of errors. It shows no key, no value and no error's text. It has no login: mount
// it where pprof would be, not on the port that the world sees.
package console
