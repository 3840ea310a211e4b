package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

var (
	origin  = time.Now()
	counter atomic.Int64
	lock    sync.Mutex
	op      = answers // through a variable, so that the call is one
)

// floors is what the parts cost that everybody is made of.
var floors = workload{
	name: "the parts", doc: "What everything is made of, on this machine.",
	contestants: []contestant{
		simple("calling the operation", floor, func() bool { v, err := op(background); return v == answer && err == nil }),
		simple("time.Since", floor, func() bool { return time.Since(origin) > 0 }),
		simple("time.Now", floor, func() bool { return !time.Now().IsZero() }),
		simple("atomic add", floor, func() bool { return counter.Add(1) > 0 }),
		simple("lock and unlock", floor, func() bool { lock.Lock(); defer lock.Unlock(); return true }),
		simple("context.WithTimeout, not looked at", floor, func() bool { return withTimeout(answers) }),
		simple("context.WithTimeout, waited for", floor, func() bool { return withTimeout(waits) }),
	},
}

func withTimeout(op func(context.Context) (int, error)) bool {
	ctx, cancel := context.WithTimeout(background, longEnough)
	defer cancel()
	v, err := op(ctx)
	return v == answer && err == nil
}
