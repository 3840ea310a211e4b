package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// badge is the state of a breaker as the page has it, and its colour.
const badge = `document.querySelector("#breakers tr .badge")`

func colour(b *tab) string { return is[string](b, "getComputedStyle("+badge+").color") }

// An incident is played: the breaker turns red, and green again, and the page tells.
func TestAnIncidentIsSeen(t *testing.T) {
	b := open(t)
	s := startService(t)
	b.do(chromedp.Navigate(s.url()))
	b.await(`document.querySelector("#connection").classList.contains("connected")`)
	b.await(badge + `.innerText.trim() === "closed"`)
	green := colour(b)
	b.await(`document.querySelectorAll("#pipelines tr").length === 3`)
	b.await(`[...document.querySelectorAll("#pipelines .outcomes li")].some(l => /success/.test(l.innerText))`)

	s.down.Store(true)
	b.await(badge + `.innerText.trim() === "open"`)
	red := colour(b)
	if green == red || !isRed(t, red) || isRed(t, green) {
		t.Errorf("closed is %s, open is %s", green, red)
	}
	b.await(`/next probe in/.test(document.querySelector("#breakers tr").innerText)`)
	b.await(`document.querySelectorAll("#pipelines .layer.open").length === 2`) // both that share it
	b.await(`document.querySelector("#breakers .timeline rect.open") !== null`)
	b.await(`/payments-db: closed to open/.test(document.querySelector("#announce").textContent)`)
	b.await(`[...document.querySelectorAll("#events tr")].some(r => r.dataset.event === "circuit_breaker.state_changed" && !r.hidden)`)
	b.await(`/1 not closed/.test(document.querySelector("#summary").innerText)`)
	b.await(`[...document.querySelectorAll("#pipelines .did")].some(d => /rejected\/s/.test(d.innerText))`)

	s.down.Store(false)
	b.await(badge + `.innerText.trim() === "closed"`)
	if again := colour(b); again != green {
		t.Errorf("closed again is %s, was %s", again, green)
	}
	b.await(`(([a, ...more]) => a && more.at(-1).classList.contains("closed") && more.some(r => r.classList.contains("open")))` +
		`([...document.querySelectorAll("#breakers .timeline rect")])`)
	b.await(`/open from/.test(document.querySelector("#breakers .timeline").getAttribute("aria-label"))`)
	if text := is[string](b, "document.documentElement.outerHTML"); strings.Contains(text, "secret") {
		t.Error("the page shows a key or an error's text")
	}
	b.clean()
}

// isRed tells whether a CSS colour, rgb(r, g, b), is one.
func isRed(t *testing.T, css string) bool {
	t.Helper()
	var red, green, blue int
	if _, err := fmt.Sscanf(css, "rgb(%d, %d, %d)", &red, &green, &blue); err != nil {
		t.Fatalf("%q: %v", css, err)
	}
	return red > green+60 && red > blue+60
}

func TestEventsAreFilteredAndPaused(t *testing.T) {
	b := open(t)
	s := startService(t)
	b.do(chromedp.Navigate(s.url()))
	choose := func(name, value string) {
		t.Helper()
		is[bool](b, fmt.Sprintf(`(s => { s.value = %q; s.dispatchEvent(new Event("change", {bubbles: true})); return true; })(document.querySelector("select[name=%s]"))`, value, name))
	}
	shown := func(condition string) string {
		return fmt.Sprintf(`(all => all.length > 0 && all.every(r => %s))([...document.querySelectorAll("#events tr:not([hidden])")])`, condition)
	}
	choose("severity", "debug")
	b.await(`["attempt.started", "execution.finished"].every(n => [...document.querySelectorAll("#events tr")].some(r => r.dataset.event === n && !r.hidden))`)
	choose("pipeline", "search")
	b.await(shown(`r.dataset.pipeline === "search"`))
	choose("event", "attempt.finished")
	b.await(shown(`r.dataset.pipeline === "search" && r.dataset.event === "attempt.finished"`))
	choose("pipeline", "")
	choose("event", "")
	choose("severity", "warn")
	s.down.Store(true)
	b.await(shown(`["warn", "error"].includes(r.dataset.severity)`))

	b.do(chromedp.Click(chromedp.CSS("#pause")))
	b.await(`document.querySelector("#pause").getAttribute("aria-pressed") === "true" && document.querySelector("#connection").innerText.trim() === "paused"`)
	b.await(badge + `.innerText.trim() !== ""`)
	first, state := is[string](b, `document.querySelector("#events tr").id`), is[string](b, `document.querySelector("#breakers").innerText`)
	b.await(`/[1-9]\d* waiting/.test(document.querySelector("#counted").innerText)`)
	time.Sleep(1500 * time.Millisecond) // another state has come by now
	if now := is[string](b, `document.querySelector("#events tr").id`); now != first {
		t.Error("events come although the page is paused")
	}
	if now := is[string](b, `document.querySelector("#breakers").innerText`); now != state {
		t.Errorf("the state changes although the page is paused:\n%s\n%s", state, now)
	}
	b.do(chromedp.Click(chromedp.CSS("#pause")))
	b.await(fmt.Sprintf(`document.querySelector("#events tr").id !== %q`, first))
	b.await(fmt.Sprintf(`document.querySelector("#breakers").innerText !== %q`, state))
	b.clean()
}

func TestOpenDetailsAndFocusStayWhileThePageIsLive(t *testing.T) {
	b := open(t)
	s := startService(t)
	b.do(chromedp.Navigate(s.url()))
	b.await(`document.querySelectorAll("#pipelines .layer").length > 0`)
	// By the keyboard alone: a layer's box is focused, and Enter opens its settings.
	b.do(chromedp.Focus(chromedp.CSS("#pipelines .layer.closed > summary")), chromedp.KeyEvent("\r"))
	b.await(`document.querySelector("#pipelines .layer.closed").open`)
	s.down.Store(true)
	b.await(`document.querySelector("#pipelines .layer.open") !== null`)
	if !is[bool](b, `(l => l.open && l.querySelector("summary") === document.activeElement && /min_calls/.test(l.innerText))(document.querySelector("#pipelines .layer.open"))`) {
		t.Error("the box that was open and focused is not any more")
	}
	for what, script := range map[string]string{
		"every control can be reached":     `[...document.querySelectorAll("a, button, select, summary")].every(e => e.tabIndex === 0)`,
		"every control has a name":         `[...document.querySelectorAll("select")].every(e => e.labels.length === 1) && [...document.querySelectorAll("button, summary")].every(e => e.innerText.trim() !== "")`,
		"every table has headers":          `[...document.querySelectorAll("table")].every(t => t.querySelectorAll("thead th[scope=col]").length > 2)`,
		"every picture has a text":         `[...document.querySelectorAll("main svg")].every(e => e.getAttribute("aria-hidden") === "true" || (e.getAttribute("role") === "img" && e.getAttribute("aria-label") !== ""))`,
		"every meter has a name":           `[...document.querySelectorAll("meter")].every(e => e.getAttribute("aria-label") !== "")`,
		"no id is there twice":             `(ids => new Set(ids).size === ids.length)([...document.querySelectorAll("[id]")].map(e => e.id))`,
		"what is announced is a status":    `document.querySelector("#announce").getAttribute("role") === "status"`,
		"the language of the page is told": `document.documentElement.lang === "en"`,
	} {
		if !is[bool](b, script) {
			t.Errorf("not so: %s", what)
		}
	}
	b.clean()
}

func TestThePageFitsAPhoneAndTheDark(t *testing.T) {
	b := open(t)
	s := startService(t)
	s.breaker.ForceOpen()
	b.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile), chromedp.Navigate(s.url()))
	b.await(`document.querySelectorAll("#pipelines tr").length === 3`)
	if wide := is[int](b, `document.documentElement.scrollWidth`); wide > 360 {
		t.Errorf("the page is %d pixels wide on a screen of 360", wide)
	}
	light := is[string](b, `getComputedStyle(document.body).backgroundColor`)
	for _, scheme := range []string{"light", "dark"} {
		b.prefers(scheme)
		if low := is[[]string](b, contrasts); len(low) > 0 {
			t.Errorf("%s: texts with a contrast below 4.5: %v", scheme, low)
		}
	}
	if dark := is[string](b, `getComputedStyle(document.body).backgroundColor`); dark == light {
		t.Errorf("dark and light have the same background, %s", dark)
	}
	b.clean()
}

// contrasts lists the elements whose text stands out too little (WCAG 2.2, 1.4.3).
const contrasts = `(() => {
  const parse = (c) => { const p = c.match(/[\d.]+/g).map(Number); return p.length === 3 ? [...p, 1] : p; };
  const light = ([r, g, b]) => { const f = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const back = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] === 1) return c; } return [255, 255, 255, 1]; };
  const low = new Set();
  for (const e of document.querySelectorAll("body *")) {
    if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility() || e.closest("noscript, .hidden-text, option")) continue;
    const a = light(parse(getComputedStyle(e).color)), b = light(back(e)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.add(e.className + ": " + e.innerText.slice(0, 20) + " " + ratio.toFixed(2));
  }
  return [...low];
})()`

func TestThePageComesBackWithItsServer(t *testing.T) {
	b := open(t)
	s := startService(t)
	b.do(chromedp.Navigate(s.url()))
	b.await(`document.querySelector("#connection").classList.contains("connected")`)
	s.stop()
	b.await(`document.querySelector("#connection").classList.contains("lost")`)
	b.forget() // it says that the server is gone
	s.breaker.ForceOpen()
	s.serve()
	b.await(`document.querySelector("#connection").classList.contains("connected")`)
	b.await(badge + `.innerText.trim() === "forced open"`)
	b.forget()
	s.breaker.Reset()
	b.await(badge + `.innerText.trim() === "closed"`)
	b.await(`[...document.querySelectorAll("#events tr")].some(r => /state from forced_open, state closed/.test(r.innerText))`)
	b.clean()
}

func TestThePageTellsAllWithoutScripts(t *testing.T) {
	b := open(t)
	s := startService(t)
	s.breaker.ForceOpen()
	send(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	seen := ""
	for began := time.Now(); time.Since(began) < 20*time.Second && !strings.Contains(seen, "rejected"); time.Sleep(time.Second) {
		b.do(chromedp.Navigate(s.url() + "?severity=warn"))
		seen = is[string](b, "document.body.innerText")
	}
	for _, want := range []string{"payments-db", "forced open", "users.get", "db-calls", "search-api", "rejected", "circuit_breaker.state_changed", "reload every 5 s"} {
		if !strings.Contains(seen, want) {
			t.Errorf("without scripts the page lacks %q:\n%s", want, seen)
		}
	}
	if is[bool](b, `document.querySelector("#pause").checkVisibility()`) {
		t.Error("there is a button that does nothing")
	}
	b.clean()
}
