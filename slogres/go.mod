module github.com/telltale-go/telltale/slogres

go 1.26.0

require github.com/telltale-go/telltale v0.0.0

replace github.com/telltale-go/telltale => ../
