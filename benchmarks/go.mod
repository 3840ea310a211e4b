module github.com/telltale-go/telltale/benchmarks

go 1.26.0

require (
	github.com/avast/retry-go/v5 v5.1.1
	github.com/cenkalti/backoff/v6 v6.0.1
	github.com/eapache/go-resiliency v1.7.0
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/sethvargo/go-retry v0.5.0
	github.com/sony/gobreaker/v2 v2.4.0
	github.com/telltale-go/telltale v0.0.0
	golang.org/x/sync v0.25.0
	golang.org/x/time v0.16.0
	resenje.org/singleflight v0.4.3
)

require github.com/bits-and-blooms/bitset v1.24.4 // indirect

replace github.com/telltale-go/telltale => ../
