module github.com/telltale-go/telltale/promres

go 1.26.0

require github.com/telltale-go/telltale v0.0.0

require github.com/prometheus/client_golang v1.25.0 // indirect

replace github.com/telltale-go/telltale => ../
