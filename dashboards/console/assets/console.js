// The page is complete without this script, which keeps it current: it puts the rows that the server renders in place of those
// that are there, and writes events as they come.
"use strict";
(() => {
  const most = 250; // rows of events of severity debug, and as many of others
  const ranks = { debug: 1, info: 2, warn: 3, error: 4 };
  const hiddenFor = 30000; // how long a page that nobody sees stays connected
  const byID = (id) => document.getElementById(id);
  const filter = byID("filter"), rows = byID("events"), pause = byID("pause");
  let source = null, retry = 0, hiding = 0;
  let paused = false, waiting = [], state = null, leftOut = { debug: 0, others: 0 };

  // morph makes one node like another, and leaves what is the same alone: focus and open details stay.
  function morph(node, like) {
    if (node.isEqualNode(like)) return;
    if (node.nodeName !== like.nodeName) { node.replaceWith(like.cloneNode(true)); return; }
    if (node.nodeType !== Node.ELEMENT_NODE) { node.nodeValue = like.nodeValue; return; }
    for (const a of [...node.attributes]) {
      if (!like.hasAttribute(a.name) && !(a.name === "open" && node.nodeName === "DETAILS")) node.removeAttribute(a.name);
    }
    for (const a of like.attributes) if (node.getAttribute(a.name) !== a.value) node.setAttribute(a.name, a.value);
    const old = [...node.childNodes], now = [...like.childNodes];
    now.forEach((n, i) => (i < old.length ? morph(old[i], n) : node.append(n.cloneNode(true))));
    old.slice(now.length).forEach((n) => n.remove());
  }

  function parse(html) {
    const t = document.createElement("template");
    t.innerHTML = html; // of the server's templates, which escape
    return t.content;
  }

  const made = new Map(); // rows that have no place yet, by id

  function row(html) {
    const like = parse(html).firstElementChild, there = byID(like.id);
    if (!there) { made.set(like.id, like); return; }
    const was = there.dataset.state, is = like.dataset.state;
    if (was && was !== is) announce(`${like.dataset.name}: ${was} to ${is}`.replaceAll("_", " "));
    morph(there, like);
  }

  function announce(text) {
    byID("announce").textContent = text;
  }

  function order(table, ids) {
    const body = byID(table), keep = new Set(ids);
    for (const r of [...body.children]) if (!keep.has(r.id)) r.remove();
    ids.forEach((id, i) => {
      const r = byID(id) || made.get(id);
      if (r && body.children[i] !== r) body.insertBefore(r, body.children[i] || null);
    });
    const section = body.closest("section"), none = section.querySelector(".none");
    body.closest("table").hidden = ids.length === 0;
    if (none) none.hidden = ids.length > 0; else section.hidden = ids.length === 0;
  }

  function draw(s) {
    const summary = document.createElement("div");
    summary.id = "summary";
    summary.append(parse(s.summary));
    morph(byID("summary"), summary);
    (s.rows || []).forEach(row);
    if (s.order) {
      for (const table of ["breakers", "pipelines", "limits"]) order(table, s.order[table]);
      made.clear();
      names();
    }
    leftOut = s.events_left_out;
    count();
  }

  // names lists the pipelines in the filter; one that is chosen stays.
  function names() {
    const select = filter.elements.pipeline, chosen = select.value;
    const all = new Set([...byID("pipelines").children].map((r) => r.dataset.name));
    if (chosen) all.add(chosen);
    select.replaceChildren(new Option("all", ""), ...[...all].map((n) => new Option(n, n)));
    select.value = chosen;
  }

  function add(id, m) {
    if (byID(id)) return;
    const e = m.event, pipeline = e["resilience.pipeline.name"] || "", layer = e["resilience.layer.name"] || "";
    const tr = document.createElement("tr");
    tr.id = id;
    tr.className = m.severity;
    Object.assign(tr.dataset, { pipeline, event: e["event.name"], severity: m.severity });
    const cell = (label, content) => {
      const td = document.createElement("td");
      td.dataset.label = label;
      td.append(content);
      tr.append(td);
    };
    const time = document.createElement("time");
    time.dateTime = e.time;
    time.textContent = e.time.slice(11, 19);
    const severity = document.createElement("span");
    severity.className = "severity";
    severity.textContent = m.severity;
    cell("Time", time);
    cell("Severity", severity);
    cell("Event", e["event.name"]);
    cell("Where", m.where);
    cell("Details", m.details);
    tr.hidden = !shown(tr);
    rows.prepend(tr);
    const same = rows.querySelectorAll(m.severity === "debug" ? "tr.debug" : "tr:not(.debug)");
    if (same.length > most) same[same.length - 1].remove();
  }

  function shown(tr) {
    const f = filter.elements, d = tr.dataset;
    return (!f.pipeline.value || f.pipeline.value === d.pipeline) && (!f.event.value || f.event.value === d.event) &&
      ranks[d.severity] >= ranks[f.severity.value];
  }

  function apply() {
    for (const tr of rows.children) tr.hidden = !shown(tr);
    count();
  }

  function count() {
    const seen = [...rows.children].filter((r) => !r.hidden).length;
    byID("no-events").hidden = seen > 0;
    byID("no-events").textContent = rows.children.length ? "No event that the filter lets through." :
      "No event yet. What happens inside calls is listened to while this page is open.";
    const missing = leftOut.others + (filter.elements.severity.value === "debug" ? leftOut.debug : 0);
    byID("counted").textContent = `${seen} shown` + (missing ? `, ${missing} left out: too many a second` : "") +
      (waiting.length ? `, ${waiting.length} waiting` : "");
  }

  // While paused, states are put together into one and events wait, the oldest giving way.
  function hold(s) {
    const known = new Map((state ? state.rows : []).map((h) => [parse(h).firstElementChild.id, h]));
    for (const h of s.rows || []) known.set(parse(h).firstElementChild.id, h);
    state = { ...s, rows: [...known.values()], order: s.order || (state && state.order) };
  }

  function connected(text, how) {
    byID("connection").className = "live-only " + how;
    if (byID("connection-text").textContent !== text) byID("connection-text").textContent = text;
  }

  function connect() {
    clearTimeout(retry);
    if (source) source.close();
    source = new EventSource("stream");
    source.onopen = () => connected(paused ? "paused" : "live", "connected");
    source.onerror = () => {
      connected("no connection, trying again", "lost");
      if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, 3000); // refused: a browser does not try again
    };
    source.addEventListener("state", (m) => {
      const s = JSON.parse(m.data);
      if (paused) hold(s); else draw(s);
    });
    source.addEventListener("event", (m) => {
      const id = "e" + m.lastEventId.replace(".", "-"), e = JSON.parse(m.data);
      if (!paused) { add(id, e); return; }
      waiting.push([id, e]);
      if (waiting.length > 2 * most) waiting.shift();
      count();
    });
  }

  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Resume" : "Pause";
    if (source && source.readyState === EventSource.OPEN) connected(paused ? "paused" : "live", "connected");
    if (paused) return;
    const events = waiting;
    waiting = [];
    events.forEach(([id, e]) => add(id, e));
    if (state) draw(state);
    state = null;
    count();
  });

  filter.addEventListener("change", apply);
  filter.addEventListener("submit", (e) => { e.preventDefault(); apply(); });

  // A page that nobody sees costs the calls their listeners: it goes to sleep.
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiding);
    if (!document.hidden) {
      if (!source) connect();
      return;
    }
    hiding = setTimeout(() => {
      clearTimeout(retry);
      if (source) source.close();
      source = null;
      connected("asleep while hidden", "");
    }, hiddenFor);
  });
  addEventListener("pagehide", () => source && source.close());
  addEventListener("pageshow", (e) => e.persisted && connect());

  document.body.classList.add("live");
  apply();
  connect();
})();
