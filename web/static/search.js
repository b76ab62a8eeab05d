// The search box: suggestions while one types, the last searches of this browser, and
// the parts of the query as chips. The chart of the results is dragged over to choose a
// range. Pages do all of it without this script, but for the suggestions.

const base = document.documentElement.dataset.base; // ends in a slash
const $ = (selector, root = document) => root.querySelector(selector);

function make(name, properties = {}, ...children) {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children);
  return e;
}

// ---- The last searches, kept in this browser alone, for their account ------

const searches = `minutebook:${base}:searches`, account = $(".signed-in [title]")?.title;
const key = account ? `${searches}:${account}` : searches;
try {
  for (const other of Object.keys(localStorage)) if (other.startsWith(searches) && other !== key) localStorage.removeItem(other);
  if ($(".page-login")) localStorage.removeItem(key);
} catch { /* storage may be refused */ }

function recent() {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "[]").filter(q => typeof q === "string").slice(0, 8);
  } catch {
    return []; // storage may be refused, or hold something else
  }
}

function remember(query) {
  try {
    localStorage.setItem(key, JSON.stringify([query, ...recent().filter(q => q !== query)].slice(0, 8)));
  } catch { /* storage may be refused */ }
}

const asked = new URLSearchParams(location.search).get("q");
if (document.body.classList.contains("page-results") && asked && $(".hits .hit")) remember(asked);

// ---- Suggestions: a combobox -----------------------------------------------

const kinds = {
  recent: "Searched", person: "Person", type: "Type", team: "Team", domain: "Company",
  title: "Meeting", phrase: "Said", word: "Said", field: "Search by",
};

class Box {
  constructor(form) {
    this.form = form;
    this.input = $("input[name=q]", form);
    this.list = make("ul", { id: "suggestions", className: "suggestions", hidden: true, role: "listbox", ariaLabel: "Suggestions" });
    this.options = [];
    this.active = -1;
    this.typed = this.input.value;
    for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "suggestions", "aria-haspopup": "listbox" })) {
      this.input.setAttribute(name, value);
    }
    form.append(this.list);
    this.input.addEventListener("input", () => { this.typed = this.input.value; this.point(-1); this.ask(); });
    this.input.addEventListener("keydown", e => this.key(e));
    this.input.addEventListener("click", () => { if (!this.input.value) this.ask(); });
    this.input.addEventListener("blur", () => this.close());
    this.list.addEventListener("pointerdown", e => e.preventDefault()); // the box keeps the focus
    this.list.addEventListener("click", e => {
      const li = e.target.closest("[role=option]");
      if (li) this.choose([...this.list.children].indexOf(li));
    });
  }

  // ask brings the suggestions for the text in the box; an answer that comes late is
  // dropped.
  async ask() {
    const text = this.typed;
    const before = recent().filter(q => q !== text && q.toLowerCase().startsWith(text.toLowerCase())).slice(0, text ? 2 : 8)
      .map(q => ({ kind: "recent", text: q, query: q }));
    if (!text.trim()) return this.show(before);
    this.waiting?.abort();
    const waiting = this.waiting = new AbortController();
    let suggestions = [], parts;
    try {
      const resp = await fetch(`${base}api/v1/suggest?q=${encodeURIComponent(text)}`, { signal: waiting.signal });
      if (resp.ok) ({ suggestions, parts } = await resp.json());
    } catch { /* another letter was typed, or the server is away */ }
    if (waiting.signal.aborted || this.typed !== text || this.active >= 0 || document.activeElement !== this.input) return;
    this.show([...before, ...suggestions]);
    if (parts) showParts(parts);
  }

  show(options) {
    this.options = options;
    this.active = -1;
    this.list.replaceChildren(...options.map((o, i) => {
      const text = make("bdi", { className: "text", textContent: o.text });
      const more = o.recording_start_date ?? (o.meetings ? String(o.meetings) : "");
      return make("li", { id: `suggestion-${i}`, role: "option", ariaSelected: "false" },
        make("span", { className: "k", textContent: kinds[o.kind] ?? "" }), text, make("span", { className: "n", textContent: more }));
    }));
    this.list.hidden = !options.length;
    this.input.setAttribute("aria-expanded", String(options.length > 0));
    this.input.removeAttribute("aria-activedescendant");
  }

  close() {
    this.waiting?.abort();
    this.show([]);
  }

  // mark moves to an option; -1 is the text as it was typed.
  mark(at) {
    this.point(at);
    this.input.value = at < 0 ? this.typed : this.options[at].kind === "title" ? this.typed : this.options[at].query;
  }

  // point says which option is chosen, and leaves the text alone.
  point(at) {
    this.list.children[this.active]?.setAttribute("aria-selected", "false");
    this.active = at;
    const li = this.list.children[at];
    li?.setAttribute("aria-selected", "true");
    li?.scrollIntoView({ block: "nearest" });
    if (li) this.input.setAttribute("aria-activedescendant", li.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  key(e) {
    if (e.isComposing) return;
    const n = this.options.length;
    switch (e.key) {
      case "ArrowDown":
      case "ArrowUp":
        e.preventDefault();
        if (!n) return void this.ask();
        return this.mark((this.active + (e.key === "ArrowDown" ? 2 : n + 1)) % (n + 1) - 1);
      case "Enter":
        if (this.active < 0) return this.close();
        e.preventDefault();
        return this.choose(this.active);
      case "Escape":
        e.preventDefault(); // which would delete the words
        if (this.list.hidden) return;
        e.stopPropagation();
        this.mark(-1);
        return this.close();
      case "Tab":
        if (this.active >= 0) this.typed = this.input.value;
    }
  }

  // choose takes a suggestion: a meeting opens, a field waits for its value, everything
  // else is searched for.
  choose(at) {
    const o = this.options[at];
    if (!o) return;
    if (o.kind === "title") return void location.assign(`${base}meetings/${o.recording_id}`);
    this.input.value = this.typed = o.query;
    if (o.kind === "field" && o.query.endsWith(":")) {
      this.point(-1);
      return void this.ask();
    }
    this.input.value = o.query.trim();
    this.close();
    this.form.requestSubmit();
  }
}

for (const form of document.querySelectorAll("form.ask")) new Box(form);

// showParts keeps the chips in step with the text.
function showParts(parts) {
  const list = $("[data-parts]");
  if (!list) return;
  list.replaceChildren(...parts.map(({ field = "", value, without }) => {
    const link = make("a", { className: "chip", href: without.trim() ? `${base}?q=${encodeURIComponent(without)}` : base, ariaLabel: ["Remove", field, value].filter(Boolean).join(" ") });
    if (field) link.append(make("span", { className: "k", textContent: field }), " ");
    link.append(make("bdi", { textContent: value }), " ", make("span", { ariaHidden: "true", textContent: "×" }));
    return make("li", {}, link);
  }));
}

// ---- The chart: dragged over, it chooses a range ---------------------------

const chart = $("svg[data-range]");
if (chart) {
  const bars = [...chart.querySelectorAll("a[data-month]")];
  const at = x => Math.max(0, Math.min(bars.length - 1, Math.floor((x - chart.getBoundingClientRect().left) / chart.getBoundingClientRect().width * bars.length)));
  let from = -1, to = -1, moved = false;
  const mark = () => bars.forEach((b, i) => b.classList.toggle("picked", moved && i >= Math.min(from, to) && i <= Math.max(from, to)));
  chart.addEventListener("dragstart", e => e.preventDefault());
  chart.addEventListener("pointerdown", e => {
    if (e.button) return;
    from = to = at(e.clientX);
    moved = false;
  });
  addEventListener("pointermove", e => {
    if (from < 0) return;
    to = at(e.clientX);
    moved ||= to !== from;
    mark();
  });
  addEventListener("pointerup", () => {
    if (from >= 0 && moved) {
      const [first, last] = [Math.min(from, to), Math.max(from, to)].map(i => bars[i].dataset.month);
      const [year, month] = last.split("-").map(Number);
      const next = month === 12 ? `${year + 1}-01` : `${year}-${String(month + 1).padStart(2, "0")}`;
      location.assign(`${base}?q=${encodeURIComponent(`${chart.dataset.range} after:${first} before:${next}`.trim())}`);
    }
    from = -1;
  });
  const drop = () => { from = -1; moved = false; mark(); };
  addEventListener("pointercancel", drop);
  addEventListener("keydown", e => { if (e.key === "Escape") drop(); });
  chart.addEventListener("click", e => { if (moved) e.preventDefault(); });
}

// ---- Examples of this archive in the description of the query language -----

$("#howto")?.addEventListener("toggle", async e => {
  if (e.newState !== "open") return;
  const resp = await fetch(`${base}api/v1/search?limit=1&facets=true`).catch(() => null);
  if (!resp?.ok) return;
  const value = Object.fromEntries((await resp.json()).facets.map(f => [f.field, f.values[0]?.value]));
  value.speaker = value.person;
  for (const code of document.querySelectorAll("#howto [data-example]")) {
    const field = code.dataset.example, v = value[field];
    if (v) code.textContent = `${field === "month" ? "on" : field}:${/[\s"“”„«»‟()]/.test(v) ? `"${v.replace(/["“”„«»‟]/g, "$&$&")}"` : v}`;
  }
}, { once: true });
