module github.com/telltale-go/telltale

go 1.26.0
