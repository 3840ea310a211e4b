package stories_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/telltale-go/telltale/dashboards/console"
	"github.com/telltale-go/telltale/events"
	"github.com/telltale-go/telltale/resilience"
)

// Whoever is on call wants to see the breakers of one process, now. The console is one line beside pprof; here is what a
// script reads of it.
func Example_console() {
	mux := http.NewServeMux()
	mux.Handle("/debug/resilience/", console.Handler(events.Default()))
	debug := httptest.NewServer(mux) // a service listens on its internal port
	defer debug.Close()

	maps := resilience.MustBreaker(resilience.BreakerConfig{Name: "maps", ConsecutiveFailures: 1})
	defer maps.Reset() // who drops a breaker ends it, and the console forgets it
	_ = maps.Run(context.Background(), (&remote{down: 1}).ping)

	response, err := http.Get(debug.URL + "/debug/resilience/state.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	var state struct {
		Breakers []struct {
			Name    string
			Breaker struct{ State events.State }
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&state); err != nil {
		fmt.Println(err)
		return
	}
	for _, b := range state.Breakers {
		if b.Name == "maps" {
			fmt.Println(b.Name, b.Breaker.State)
		}
	}
	// Output: maps open
}

// A page for a bus of its own, with bounds of its own, that ends with the program.
func Example_consoleConfig() {
	bus := events.NewBus()
	page, err := console.New(bus, console.Config{MaxViewers: 2, Events: 1000, History: 15 * time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer page.Close(context.Background())

	_, err = console.New(bus, console.Config{MaxViewers: -1})
	fmt.Println(err)
	// Output: console.Config.MaxViewers = -1: must be 1 to 1000, or 0 for the default, 8
}
