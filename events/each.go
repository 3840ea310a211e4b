package events

// each calls f for every item in turn, also when one of the calls panics or ends the goroutine.
func each[T any](items []T, f func(T)) {
	defer func() {
		if len(items) > 0 {
			each(items, f)
		}
	}()
	for len(items) > 0 {
		item := items[0]
		items = items[1:]
		f(item)
	}
}
