module github.com/telltale-go/telltale/slogres

go 1.26.0

require (
	github.com/samber/slog-multi v1.7.1
	github.com/telltale-go/telltale v0.0.0
)

require (
	github.com/samber/lo v1.52.0 // indirect
	github.com/samber/slog-common v0.20.0 // indirect
	golang.org/x/text v0.22.0 // indirect
)

replace github.com/telltale-go/telltale => ../
