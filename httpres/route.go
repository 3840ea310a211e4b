package httpres

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/telltale-go/telltale/resilience"
)

// Route is a layer that sends the attempts of a request to several servers, which give the same answers. It belongs inside
// the Retry or Hedge that makes the attempts, and outside of breakers and limiters per host, so that each sees the host
// that its attempt goes to:
//
//	resilience.Hedge{Delay: 50 * time.Millisecond},
//	httpres.Route{To: httpres.Endpoints(here, there)},
//	httpres.MustBreakerPerHost(resilience.BreakerConfig{Name: "replicas"}),
//
// It changes the URL's scheme and host, and with them the Host header unless the request has another than its URL's; all
// other headers, credentials and cookies included, are sent to each server. The response's Request stays the caller's.
type Route struct {
	// Name tells the layer apart in telemetry; empty means "route".
	Name string
	// To returns the servers that an attempt may go to, the best first, of which the scheme and the host count. Where a layer
	// inside refuses for one, such as its open breaker, the attempt goes to the next. The 1-based number is that of the attempt
	// that the Retry or Hedge outside starts. None means the request's own. To is required, and called concurrently,
	// with the context of the call; what it returns must not change.
	To func(ctx context.Context, attempt int) []*url.URL
}

// Endpoints returns a Route.To that takes the servers in turn: the n-th attempt of each request goes to the n-th, and after
// the last comes the first. Nil ones do not count.
func Endpoints(servers ...*url.URL) func(ctx context.Context, attempt int) []*url.URL {
	var twice []*url.URL
	for range 2 {
		for _, u := range servers {
			if u != nil {
				twice = append(twice, u)
			}
		}
	}
	n := len(twice) / 2
	return func(_ context.Context, attempt int) []*url.URL {
		if n == 0 {
			return nil
		}
		first := (max(attempt, 1) - 1) % n
		return twice[first : first+n]
	}
}

// routeOf returns a layer that is a Route. A nil pointer is none.
func routeOf(l resilience.Layer) (Route, bool) {
	switch l := l.(type) {
	case Route:
		return l, true
	case *Route:
		if l != nil {
			return *l, true
		}
	}
	return Route{}, false
}

// LayerInfo implements resilience.Layer.
func (r Route) LayerInfo() resilience.LayerInfo {
	if r.Name == "" {
		r.Name = "route"
	}
	return resilience.LayerInfo{Name: r.Name, Type: "route"}
}

// Wrap implements resilience.TypedLayer.
func (r Route) Wrap(next resilience.Next[*http.Response]) resilience.Next[*http.Response] {
	return func(ctx context.Context, call resilience.Call, op resilience.Operation[*http.Response]) (*http.Response, error) {
		c := callOf(ctx)
		if c == nil {
			return next(ctx, call, op)
		}
		servers := r.To(ctx, call.Attempt())
		for i, to := range servers {
			resp, err := next(context.WithValue(ctx, targetKey{}, &target{c, to}), call, op)
			if i == len(servers)-1 || !isRefusal(err) {
				return resp, err
			}
		}
		return next(ctx, call, op)
	}
}

// isRefusal tells whether a layer inside let nothing through.
func isRefusal(err error) bool {
	switch err.(type) {
	case *resilience.BreakerOpenError, *resilience.LimitedError:
		return true
	}
	return false
}

// target is where an attempt goes, instead of where its request says.
type target struct {
	call *call // of another one it says nothing: a transport may be the base of another
	url  *url.URL
}

type targetKey struct{}

func targetOf(ctx context.Context, c *call) *url.URL {
	if t, ok := ctx.Value(targetKey{}).(*target); ok && t.call == c && t.url != nil {
		return t.url
	}
	return nil
}

// redirect has the request that an attempt sends go where its Route says.
func redirect(ctx context.Context, c *call, sent *http.Request) {
	to := targetOf(ctx, c)
	if to == nil || sent.URL == nil {
		return
	}
	if sent.Host == sent.URL.Host {
		sent.Host = ""
	}
	sent.URL.Scheme, sent.URL.Host = to.Scheme, to.Host
}

// Host is the resilience.KeyedConfig.Key that keeps a gate for each host: it returns the host that the attempt goes to, in
// lower case, with its port unless that is the scheme's own. Outside of a Transport it returns "".
//
//	resilience.MustKeyed(resilience.KeyedConfig{Name: "partners", Key: httpres.Host, New: newRateLimiter})
func Host(ctx context.Context, _ resilience.Call) string {
	c := callOf(ctx)
	if c == nil {
		return ""
	}
	if to := targetOf(ctx, c); to != nil {
		return hostOf(to)
	}
	return c.host
}

// hostOf returns one name for each server.
func hostOf(u *url.URL) string {
	if u == nil {
		return ""
	}
	host := strings.ToLower(u.Host)
	switch strings.ToLower(u.Scheme) {
	case "http":
		host = strings.TrimSuffix(host, ":80")
	case "https":
		host = strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":")
}
