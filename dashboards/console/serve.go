package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/telltale-go/telltale/events"
)

// policy lets the page load what comes from this server and nothing else, and nothing that is written into it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP implements [http.Handler].
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "console: read-only: GET and HEAD alone", http.StatusMethodNotAllowed)
		return
	}
	switch last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; last {
	case "":
		if r.URL.Path == "" { // behind http.StripPrefix
			redirect(w, r)
			return
		}
		c.page(w, r)
	case "state.json":
		c.stateJSON(w, r)
	case "events.json":
		c.eventsJSON(w, r)
	case "stream":
		c.stream(w, r)
	case "console.css", "console.js", "icon.svg":
		asset(w, r, last)
	default:
		if strings.Contains(last, ".") {
			http.Error(w, "console: there is no "+last, http.StatusNotFound)
			return
		}
		redirect(w, r)
	}
}

// redirect adds the slash that relative links need. It goes by what the client asked for: a prefix may have been stripped.
func redirect(w http.ResponseWriter, r *http.Request) {
	asked, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		asked = r.URL
	}
	to := "./" + path.Base(asked.EscapedPath()) + "/"
	if asked.RawQuery != "" {
		to += "?" + asked.RawQuery
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusPermanentRedirect)
}

func (c *Console) page(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f, err := parseFilter(q)
	refresh, err2 := parseNumber(q, "refresh", 3600)
	if err == nil {
		err = err2
	}
	if err != nil {
		http.Error(w, "console: "+err.Error(), http.StatusBadRequest)
		return
	}
	if f.Severity == 0 {
		f.Severity = events.SeverityInfo // of calls that go well there are too many to read
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	c.answer(w, r, func(watch *watch) []byte {
		return []byte("<!doctype html>\n" + render("page", c.newView(c.state(watch), f, refresh)) + "\n")
	})
}

func (c *Console) stateJSON(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	c.answer(w, r, func(watch *watch) []byte { return toJSON(c.state(watch)) })
}

// eventsAnswer is what events.json tells.
type eventsAnswer struct {
	Events  []*record `json:"events"` // the oldest first
	Last    uint64    `json:"last"`   // ?after=last asks for what comes next
	LeftOut missing   `json:"events_left_out"`
}

func (c *Console) eventsJSON(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	f, err := parseFilter(q)
	after, err2 := parseNumber(q, "after", 1<<63)
	if err == nil {
		err = err2
	}
	if err != nil {
		http.Error(w, "console: "+err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	c.answer(w, r, func(watch *watch) []byte {
		a := eventsAnswer{LeftOut: watch.missing()}
		a.Events, a.Last = c.log.since(after, f)
		if a.Events == nil {
			a.Events = []*record{}
		}
		return toJSON(a)
	})
}

// answer writes what make returns. A HEAD is no look: it is what probes send.
func (c *Console) answer(w http.ResponseWriter, r *http.Request, make func(*watch) []byte) {
	if r.Method == http.MethodHead {
		return
	}
	watch := c.look()
	if watch == nil {
		refuse(w, errClosed)
		return
	}
	body := make(watch)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(c.pace.write))
	_, _ = w.Write(body)
}

func toJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return []byte(`{"error": "console: not JSON"}` + "\n") // numbers are checked where they are read
	}
	return b.Bytes()
}

// asset serves an embedded file; a browser asks whether its copy is still the right one.
func asset(w http.ResponseWriter, r *http.Request, name string) {
	b, err := assets.ReadFile("assets/" + name)
	if err != nil {
		http.Error(w, "console: there is no "+name, http.StatusNotFound)
		return
	}
	sum := sha256.Sum256(b)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(b))
}
