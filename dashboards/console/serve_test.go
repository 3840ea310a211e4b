package console

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/telltale-go/telltale/resilience"
)

func TestEachResourceSaysWhatItIs(t *testing.T) {
	r := newRig(t, Config{})
	defer r.closes()
	for path, want := range map[string][2]string{
		"/":            {"text/html; charset=utf-8", "no-store"},
		"/state.json":  {"application/json", "no-store"},
		"/events.json": {"application/json", "no-store"},
		"/console.js":  {"text/javascript; charset=utf-8", "no-cache"},
		"/console.css": {"text/css; charset=utf-8", "no-cache"},
		"/icon.svg":    {"image/svg+xml", "no-cache"},
		"/stream":      {"text/event-stream; charset=utf-8", "no-store"},
	} {
		for _, prefix := range []string{"", "/debug/resilience", "/a/b/c"} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				if path == "/stream" && method == http.MethodGet {
					continue
				}
				rec := r.ask(method, prefix+path)
				h := rec.Header()
				if rec.Code != 200 || h.Get("Content-Type") != want[0] || h.Get("Cache-Control") != want[1] {
					t.Errorf("%s %s%s: %d %v", method, prefix, path, rec.Code, h)
				}
				if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") != policy {
					t.Errorf("%s %s%s: %v", method, prefix, path, h)
				}
				if method == http.MethodHead && rec.Body.Len() > 0 {
					t.Errorf("HEAD %s has a body", path)
				}
			}
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Error("the policy allows what is unsafe")
	}
}

func TestWhatWouldChangeSomethingIsRefused(t *testing.T) {
	r := newRig(t, Config{})
	defer r.closes()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, http.MethodTrace, "FOO"} {
		for _, path := range []string{"/", "/state.json", "/events.json", "/stream", "/console.js", "/x"} {
			if rec := r.ask(method, path); rec.Code != http.StatusMethodNotAllowed || rec.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d %v", method, path, rec.Code, rec.Header())
			}
		}
	}
}

func TestThePageWorksUnderAnyPrefix(t *testing.T) {
	r := newRig(t, Config{})
	defer r.closes()
	r.pipeline("users.get")
	mux := http.NewServeMux()
	mux.Handle("/debug/resilience/", r)
	mux.Handle("/exact", r)
	mux.Handle("/stripped/", http.StripPrefix("/stripped", r))
	mux.Handle("/bare", http.StripPrefix("/bare", r))
	mux.Handle("/bare/", http.StripPrefix("/bare", r))
	mux.Handle("/exact/", r)
	server := httptest.NewServer(mux)
	defer server.Close()
	for asked, want := range map[string]string{
		"/debug/resilience":             "/debug/resilience/",
		"/debug/resilience/":            "/debug/resilience/",
		"/exact?severity=warn":          "/exact/?severity=warn",
		"/stripped/":                    "/stripped/",
		"/bare":                         "/bare/",
		"/debug/resilience/deeper":      "/debug/resilience/deeper/",
		"/debug/resilience/javascript:": "/debug/resilience/javascript:/",
		"/debug/resilience/%5cevil":     "/debug/resilience/%5cevil/",
	} {
		resp, err := http.Get(server.URL + asked)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if at := resp.Request.URL; resp.StatusCode != 200 || strings.TrimPrefix(at.String(), server.URL) != want || !strings.Contains(string(body), "users.get") {
			t.Errorf("%s: %s at %s", asked, resp.Status, at)
		}
	}
	if strings.Contains(r.get("/"), `="/`) {
		t.Error("the page has an absolute link")
	}
}

func TestAnUnknownDocumentIsNotFound(t *testing.T) {
	r := newRig(t, Config{})
	defer r.closes()
	for _, path := range []string{"/stat.json", "/page.html", "/icons.html", "/favicon.ico", "/..console.js"} {
		if rec := r.ask(http.MethodGet, path); rec.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, rec.Code)
		}
	}
}

func TestABrowserNeedsNoAssetTwice(t *testing.T) {
	r := newRig(t, Config{})
	defer r.closes()
	tags := map[string]bool{}
	for _, name := range []string{"/console.js", "/console.css", "/icon.svg"} {
		tag := r.ask(http.MethodGet, name).Header().Get("ETag")
		if tag == "" || tags[tag] {
			t.Errorf("%s: ETag %q", name, tag)
		}
		tags[tag] = true
		req := httptest.NewRequest(http.MethodGet, name, nil)
		req.Header.Set("If-None-Match", tag)
		rec := httptest.NewRecorder()
		r.ServeHTTP(rec, req)
		if rec.Code != http.StatusNotModified || rec.Body.Len() > 0 {
			t.Errorf("%s: %d with its ETag", name, rec.Code)
		}
	}
}

func TestAWrongQuestionIsAnsweredByWhatIsRight(t *testing.T) {
	r := newRig(t, Config{})
	defer r.closes()
	for query, want := range map[string]string{
		"?severity=loud": "want debug, info, warn or error",
		"?event=none":    "want the name of an event",
		"?after=-1":      "want a whole number",
		"?after=x":       "want a whole number",
		"?refresh=0.5":   "want a whole number",
		"?refresh=9999":  "0 to 3600",
	} {
		path := "/events.json"
		if strings.Contains(query, "refresh") {
			path = "/"
		}
		if rec := r.ask(http.MethodGet, path+query); rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: %d %s", query, rec.Code, rec.Body)
		}
	}
}

func TestNamesAreEscaped(t *testing.T) {
	const evil = `<script>alert(1)</script>"'&`
	r := newRig(t, Config{})
	defer r.closes()
	breaker := r.breaker(evil)
	_, _ = r.pipeline(evil, resilience.Timeout{Name: evil, After: 500}, breaker).Do(r.t.Context(), succeed)
	breaker.ForceOpen()
	_ = r.transitions.Close(r.t.Context())
	page := r.get("/?pipeline=%3Cscript%3E&severity=debug") + render("pipeline", &r.state(r.look()).Pipelines[0])
	if strings.Contains(page, "<script>alert") || !strings.Contains(page, "&lt;script&gt;alert(1)") || strings.Contains(page, "ZgotmplZ") {
		t.Errorf("a name is not escaped:\n%s", page)
	}
	if n := strings.Count(page, "<script"); n != 1 {
		t.Errorf("%d scripts on the page", n)
	}
}

func TestThePageIsWholeWithoutScripts(t *testing.T) {
	r := newRig(t, Config{})
	defer r.closes()
	breaker := r.breaker("payments-db")
	bulkhead := resilience.MustBulkhead(resilience.BulkheadConfig{Name: "db-calls", MaxConcurrent: 7, Bus: r.bus})
	r.pipeline("users.get", bulkhead, resilience.Retry{}, breaker)
	breaker.ForceOpen()
	_ = r.transitions.Close(r.t.Context()) // until it is noted
	page := r.get("/?severity=warn&refresh=5")
	for _, want := range []string{"users.get", "payments-db", "forced open", "closed → forced open", "0 of 7", "max_attempts=3", "circuit_breaker.state_changed",
		`<option selected>warn`, `<noscript><meta http-equiv="refresh" content="5">`, "payments-db, states of the last 5 min"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(r.get("/?severity=error"), "<td data-label=\"Event\">circuit_breaker.state_changed") {
		t.Error("the filter lets through what is less severe")
	}
	if strings.Contains(page, "style=") || strings.Contains(page, "onclick") {
		t.Error("the page has styles or scripts within, which its policy forbids")
	}
}

func TestAPageWithoutSourcesSaysSo(t *testing.T) {
	r := newRig(t, Config{})
	defer r.closes()
	if page := r.get("/"); !strings.Contains(page, `<p class="none">No pipeline lives on this bus.`) || !strings.Contains(page, "0 pipelines, 0 breakers") {
		t.Errorf("%s", page)
	}
}
