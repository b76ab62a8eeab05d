// Everything here adds to pages that work without it: keys, following a
// recording in its transcript, and pages that change as the archive does.

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
export const { base, own } = document.documentElement.dataset; // base ends in a slash
if (own) history.replaceState(history.state, "", own); // else loading the page again would send its form again

// meeting is filled by the script of a meeting's page: key hears its keys, attach takes hold
// of a player that has arrived, changed hears that the meeting is another edition now, regain
// that the archive answers again, and box is where / leads first.
export const meeting = {};

export function clock(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  const mm = h => String(Math.floor(s / 60) % 60).padStart(h ? 2 : 1, "0");
  const ss = String(s % 60).padStart(2, "0");
  return s < 3600 ? `${mm(false)}:${ss}` : `${Math.floor(s / 3600)}:${mm(true)}:${ss}`;
}

export function button(text, label, onclick) {
  const b = document.createElement("button");
  b.type = "button";
  b.textContent = text;
  if (label) b.title = label;
  if (!/\w/.test(text)) b.ariaLabel = label; // a word is its own label
  b.addEventListener("click", onclick);
  return b;
}

// settle scrolls by place, which is instant or glides. The instant one is done again in the next
// frame, unless another has come: Chromium adds to it the rest of a glide that it ends.
let settled;
export function settle(place, glides = false) {
  settled = place;
  place();
  if (!glides) requestAnimationFrame(() => { if (settled === place) place(); });
}

// isPlain tells whether a click is no other's yet, and opens no window or menu.
export const isPlain = e => !(e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey);

// ---- Forms -----------------------------------------------------------------

// sent knows when forms were sent.
let sent = new WeakMap();

// isAgain reports whether a form is sent that was sent just now, as by a second click.
function isAgain(form) {
  const now = performance.now(), again = now - sent.get(form) < 5000;
  if (!again) sent.set(form, now);
  return again;
}

// ---- Lists: keys move through them, choices of filters act at once ---------

function move(step) {
  const rows = $$("main a.row");
  if (!rows.length) return false;
  const at = rows.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step));
  rows[next].focus();
  rows[next].scrollIntoView({ block: "nearest" });
  return true;
}

// A date that is written changes with each digit of its year, and a closed list with each key: they
// wait for the button, or Enter. What is chosen in an open list acts at once.
for (const form of $$("form[data-auto]")) {
  let steps = false;
  form.addEventListener("pointerdown", () => { steps = false; });
  form.addEventListener("keydown", e => { steps = !e.altKey && /^(Arrow|Page|Home$|End$|\S$)/.test(e.key); });
  form.addEventListener("change", e => { if (e.target.matches("select") && !steps) form.requestSubmit(); });
  form.addEventListener("submit", () => { for (const field of form.elements) if (!field.value && field.name) field.disabled = true; });
}
addEventListener("pageshow", ({ persisted }) => {
  sent = new WeakMap();
  // The browser brings choices back that are not those of this address.
  if (persisted || performance.getEntriesByType("navigation")[0]?.type !== "navigate") for (const form of $$("form[data-auto]")) form.reset();
  for (const field of $$("form[data-auto] :is(select, input)")) field.disabled = false;
  // What one had written, and the browser has brought back, is not folded away.
  for (const text of $$("details:not([open]) :is(textarea, input)")) if (text.value !== text.defaultValue) text.closest("details").open = true;
});
if (matchMedia("(max-width: 980px)").matches) for (const d of $$("details[data-fold]")) d.open = false;

// Back to the results keeps their place, when that is where one came from.
$("[data-back]")?.addEventListener("click", e => {
  if (!window.navigation || !isPlain(e)) return;
  const to = new URL(e.currentTarget.href);
  const before = navigation.entries().slice(0, navigation.currentEntry.index).findLast(({ url }) => {
    const from = url && new URL(url);
    return from && from.pathname === to.pathname && from.searchParams.get("q") === to.searchParams.get("q");
  });
  if (!before) return;
  e.preventDefault();
  navigation.traverseTo(before.key);
});

// ---- Keys ------------------------------------------------------------------

// recall returns a setting of this browser, and remember keeps one for a year: in a cookie, since
// signing out clears what else a browser has of this archive, with the settings of old versions.
export function recall(name) {
  const kept = document.cookie.split("; ").find(cookie => cookie.startsWith(`minutebook-${name}=`));
  try { return kept?.split("=")[1] ?? localStorage.getItem(name); } catch { return null; /* storage may be refused */ }
}

export function remember(name, value) {
  document.cookie = `minutebook-${name}=${value}; path=${base}; max-age=31536000; samesite=lax`;
}

for (const name of ["keys", "rate"]) if (recall(name)) remember(name, recall(name)); // from now on

// Letters and signs can be turned off as keys, on the page of help and for this browser: who
// speaks to the computer would press them with every word.
const hasKeys = () => recall("keys") !== "off";
const keys = $("[data-keys]");
if (keys) {
  keys.hidden = false;
  const box = $("input", keys);
  box.checked = hasKeys();
  box.addEventListener("change", () => {
    remember("keys", box.checked ? "on" : "off");
    box.checked = hasKeys(); // cookies may be refused
  });
}

addEventListener("keydown", e => {
  if (e.metaKey || e.ctrlKey || e.altKey || e.isComposing) return;
  if (e.target.closest?.("input, select, textarea")) {
    if (e.key === "Escape") e.target.blur();
    return;
  }
  if (e.key === " " && e.target.closest?.("button, summary")) return;
  if (e.key.length === 1 && e.key !== " " && !hasKeys()) return;
  let done = true;
  if (e.key === "/") { const box = meeting.box ?? $("input[name=q]"); box.focus(); box.select(); }
  else if (e.key === "?") location.assign(`${base}help`);
  else if (meeting.key) done = meeting.key(e);
  else if (e.key === "j") done = move(1);
  else if (e.key === "k") done = move(-1);
  else done = false;
  if (done) e.preventDefault();
});

// ---- Pages that change as the archive does ---------------------------------

const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

// patience returns the time to wait for a server that does not answer, or not as asked: each
// time twice as long, up to a minute.
export function patience() {
  let next = 5000;
  return { again: () => { const ms = next; next = Math.min(2 * next, 60000); return ms; }, answered: () => { next = 5000; } };
}

// ownPages is the one policy by which markup is parsed here.
const ownPages = window.trustedTypes?.createPolicy("minutebook", { createHTML: html => html }) ?? { createHTML: html => html };

// isMissing reports whether an answer says that there is nothing at its address. Some proxies say
// so of an archive that is away: the archive's own answers have its policy.
const isMissing = ({ status }) => [404, 410].includes(status);
const isOwn = ({ headers }) => !!headers.get("Content-Security-Policy")?.includes("trusted-types minutebook");

// readPage brings a page of this archive as a document in which nothing runs or loads, null
// where it is refused. It fails where the archive is away, also behind a proxy.
export async function readPage(address, more = {}) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, ...more });
  if ([502, 503, 504].includes(answer.status) || isMissing(answer) && !isOwn(answer)) throw new Error(answer.statusText);
  return answer.ok ? new DOMParser().parseFromString(ownPages.createHTML(await answer.text()), "text/html") : null;
}

// Ticks and notes keep the place of the reader, and the recording playing: their part of the
// page alone is shown anew, by the answer to the form that was sent last.
let turns = 0;
const shownBy = {}; // by the part: the turn of the form whose answer it shows
addEventListener("submit", async e => {
  const form = e.target.closest("form.tick, form.note"), { submitter } = e;
  const name = !form ? "" : form.matches(".note") ? "#notes" : form.closest("#action_items") ? "#action_items" : "main";
  if (!name || !$(name) || form.dataset.plain) return;
  e.preventDefault();
  if (isAgain(form)) return;
  const text = form.elements.text.value, was = document.activeElement, turn = ++turns;
  let page;
  try {
    page = await readPage(form.action, { method: "POST", body: new URLSearchParams(new FormData(form, submitter)) });
  } catch { // also where a proxy leads to another host to sign in
    sent.delete(form);
    if (!await leaveIfOver().catch(() => false)) showUnanswered(form);
    return;
  }
  const fresh = page && $(name, page);
  if (fresh && turn < shownBy[name]) return;
  if (fresh) shownBy[name] = turn;
  if (fresh) return void (name === "#notes" ? showNotes : showItems)(form, was, $(name), fresh, page, text);
  sent.delete(form);
  if (name === "#notes" && page) return void leave(); // a proxy asks here who this is
  if (name === "#notes" && submitter?.value !== "delete") store([form]); // the answer may be a proxy's, which has no words of the note
  form.dataset.plain = "yes";
  if (!form.isConnected) document.body.append(form); // its part was shown anew meanwhile
  form.requestSubmit(submitter); // the answer says why
});

// Every other form is sent once too.
addEventListener("submit", e => {
  if (!e.defaultPrevented && e.target.method === "post" && isAgain(e.target)) e.preventDefault();
});

// present returns a form or the one that came in its place, undefined where there is none.
const item = ({ elements, className }) => className === "note" ? elements.note?.value : ["meeting", "at", "text"].map(name => elements[name].value).join("\n");
const present = form => form.isConnected ? form : $$(`form.${form.className}`).find(f => item(f) === item(form));

function showUnanswered(form) {
  const here = present(form), place = here?.closest("li") ?? here ?? $("main"), said = $(".unanswered", place) ?? document.createElement("p");
  Object.assign(said, { className: "warn unanswered", role: "alert", textContent: "The archive does not answer. Try again." });
  place.append(said);
}

// isWaiting reports whether the reader is where they were when a form was sent, and not elsewhere.
const isWaiting = (form, was) => [was, document.body].includes(document.activeElement) || !!form?.contains(document.activeElement);

// showItems shows action items anew, and leaves other forms as they are. The focus stays at the
// item, or goes to the nearest one that is left; the reader who has moved on stays where they are.
function showItems(form, was, old, fresh) {
  const here = present(form), at = document.activeElement, waits = isWaiting(here, was);
  const from = !waits ? old.contains(at) && at : here && $("button", here);
  const kind = from && from.closest("form.tick") ? "form.tick button" : "a, summary", key = e => e.form ? item(e.form) : e.getAttribute("href") ?? e.textContent;
  const stops = $$(kind, old), i = stops.indexOf(from);
  const order = i < 0 ? [from].filter(Boolean) : [...stops.slice(i), ...stops.slice(0, i).reverse()];
  const tops = order.map(e => [e, e.getBoundingClientRect().top]);
  const open = $$("details", old).map(d => d.open), others = $$("form:not(.tick)", old);
  old.replaceChildren(...fresh.childNodes);
  $$("details", old).forEach((d, i) => { d.open = open[i] ?? d.open; });
  $$("form:not(.tick)", old).forEach((place, i) => { if (others[i]?.action === place.action) place.replaceWith(others[i]); });
  const left = new Map($$(kind, old).map(e => [key(e), e]));
  for (const [e, top] of tops) {
    const next = e.isConnected ? e : i < 0 ? null : left.get(key(e));
    if (!next) continue;
    next.focus({ preventScroll: true });
    return void settle(() => scrollBy({ top: next.getBoundingClientRect().top - top, behavior: "instant" }));
  }
  if (waits && here) $("main").focus({ preventScroll: true });
}

// showNotes shows notes anew, but for those that are being written. The focus of who waits goes
// to the new or changed one: others may have come meanwhile, from other people and windows. Words
// that were written after its text was sent are a change of it.
const isWritten = form => form.elements.text.value !== form.elements.text.defaultValue;
function showNotes(form, was, old, fresh, page, text) {
  const at = document.activeElement, waits = isWaiting(present(form), was);
  const drafts = $$("form.note", old).filter(f => f !== form && (isWritten(f) || f.contains(at))), had = new Set($$("li[id]", old).map(l => l.id));
  const line = !waits && old.contains(at) && at.closest("li[id]")?.id;
  old.replaceChildren(...fresh.childNodes);
  for (const draft of drafts) {
    const place = $$("form.note", old).find(f => item(f) === item(draft));
    if (!place) continue;
    place.closest("details").open = true;
    place.replaceWith(draft);
  }
  $("nav.parts")?.replaceChildren(...$("nav.parts", page)?.childNodes ?? []);
  const changed = form.elements.note && `note${form.elements.note.value}`;
  const own = $$("li[id]", old).filter(l => changed ? l.id === changed : !had.has(l.id) && $("summary", l));
  const shown = own.find(l => $("textarea", l).value === text.trim()) ?? own[0] ?? $(".addnote", old);
  const { elements } = $("form.note", shown), late = form.elements.text.value, isLate = late !== text && elements.text.value === elements.text.defaultValue;
  if (isLate) {
    elements.text.value = late;
    elements.private.checked = form.elements.private.checked;
    elements.text.closest("details").open = true;
  }
  const next = waits ? isLate ? elements.text : $("summary", shown) : at.isConnected ? at : line && $(`#${line} ${at.localName}`, old);
  if (next && next !== document.activeElement) next.focus({ preventScroll: true });
  if (waits) settle(() => shown.scrollIntoView({ block: "nearest" }));
}

// A note that is being written, or could not be kept, is not left by mistake.
const drafts = () => $$("form.note").filter(f => isWritten(f) && !sent.has(f));
let unkept = false;
addEventListener("beforeunload", e => { if (unkept || drafts().length) e.preventDefault(); });
const refused = $(".page-error form.note");
if (refused) {
  unkept = true;
  refused.addEventListener("submit", () => { unkept = false; });
}

// store keeps drafts in this window, for the page to be there again or for the one that comes in
// its place. It reports whether it could.
const reader = () => $(".signed-in [title]")?.title;
function store(forms) {
  try {
    sessionStorage.setItem("drafts", JSON.stringify([location.pathname, reader(), forms.map(f => Object.fromEntries(new FormData(f)))]));
  } catch { return false; /* storage may be refused */ }
  return true;
}

// leave loads a page again that is over for its reader, and stores what was being written on it.
function leave() {
  const left = drafts();
  if (left.length && store(left)) for (const form of left) sent.set(form, performance.now()); // else the browser asks
  location.reload();
}

// bringBack puts drafts back, or shows them and says why they were not kept. Nobody but their
// author sees them: a page that knows nobody says that they wait.
function bringBack() {
  let path, who, left;
  try { [path, who, left] = JSON.parse(sessionStorage.getItem("drafts") ?? "[]"); } catch { /* as above */ }
  if (!left) return;
  const isOthers = reader() && reader() !== who, isUnknown = who && !reader(), notes = $("#notes");
  if (isUnknown && !refused) return void ($(".page-login, .page-error") && showUnkept());
  if (!isOthers && !refused && path !== location.pathname) return;
  sessionStorage.removeItem("drafts");
  if (isOthers || refused) return; // the answer that refuses a note has its words
  if (!notes) return void showUnkept(left);
  for (const draft of left) {
    if ($$("li textarea", notes).some(kept => kept.value === draft.text.trim())) continue; // it was kept after all
    const form = $$("form.note", notes).find(f => f.elements.note?.value === draft.note) ?? $(".addnote form", notes);
    for (const name of ["seen", "text", "at"]) if (name in draft && form.elements[name]) form.elements[name].value = draft[name];
    form.elements.private.checked = !!draft.private;
    form.closest("details").open = true;
    form.scrollIntoView({ block: "center" });
  }
}

function showUnkept(left) {
  unkept = !!left;
  const why = document.createElement("p");
  why.textContent = left ? "Your note was not kept, since its meeting is not there for you any more. Copy your words, they are nowhere else."
    : "A note was not kept yet, since nobody is signed in here any more. It is put back when its author has signed in again.";
  const place = Object.assign(document.createElement("div"), { className: "unkept note" });
  place.append(why, ...(left ?? []).map(({ text }) => Object.assign(document.createElement("textarea"), { value: text, readOnly: true, rows: 4, ariaLabel: "Your note", dir: "auto" })));
  ($("main h1 + p") ?? $("main h1")).after(place);
}
bringBack();

// refresh brings one part of the page up to date from the page itself, or from the player alone:
// the page of a meeting counts as opened. It fails where the page is not answered.
async function refresh(name) {
  const page = await readPage(name === "player" ? `${location.pathname}?player&${location.search.slice(1)}` : location.href);
  if (!page) throw new Error("the page is not answered");
  const fresh = $(`[data-live="${name}"]`, page), old = $(`[data-live="${name}"]`);
  if (!fresh || !old) return;
  if (name === "player") {
    const arrived = !!$("#media", fresh), had = !!$("#media");
    if (!had && (arrived || !old.contains(document.activeElement))) old.replaceChildren(...fresh.childNodes);
    if (arrived && !had) meeting.attach?.();
    meeting.changed?.($("[data-edition]", page)?.dataset.edition);
    return;
  }
  if (fresh.innerHTML === old.innerHTML) return;
  const known = new Set($$("[data-id]", old).map(e => e.dataset.id));
  const focused = document.activeElement?.getAttribute?.("href");
  const had = old.contains(document.activeElement);
  old.replaceChildren(...fresh.childNodes);
  if (known.size) for (const e of $$("[data-id]", old)) if (!known.has(e.dataset.id)) e.classList.add("fresh");
  if (had && focused) $$("a", old).find(a => a.getAttribute("href") === focused)?.focus({ preventScroll: true });
  const sum = $(".hero .sum"), newSum = $(".hero .sum", page);
  if (sum && newSum) sum.replaceChildren(...newSum.childNodes);
}

// isOver reports whether an answer says that the right to see something has ended, or leads
// elsewhere, such as to sign in.
const isOver = answer => answer.type === "opaqueredirect" || [401, 403].includes(answer.status) || isMissing(answer) && isOwn(answer);

// hasLeft reports whether the reader of the page is not signed in any more: nobody is, or another
// person is since, in another window.
async function hasLeft() {
  if (!reader()) return false;
  const answer = await fetch(`${base}api/v1/me`, { redirect: "manual" });
  return isOver(answer) || answer.ok && !(await answer.json()).emails.includes(reader());
}

// leaveIfOver leaves the page of the window when it is over. It reports whether it does.
export async function leaveIfOver() {
  const is = isOver(await fetch(location.href, { method: "HEAD", redirect: "manual" })) || await hasLeft();
  if (is) leave();
  return is;
}

// askWhenSeen asks whether the reader of the page is still signed in.
function askWhenSeen() {
  if (!document.hidden) hasLeft().then(is => { if (is) leave(); }).catch(() => { /* the archive is away */ });
}

// live waits for changes, while the page is seen: over HTTP/1.1 a browser has six connections
// to a host for all its windows.
async function live(part) {
  let from = part.dataset.from;
  const only = part.dataset.of ? `&recording_id=${part.dataset.of}` : "";
  const wait = patience();
  let away = false, asking;
  document.addEventListener("visibilitychange", () => asking?.abort());
  while (from) {
    const seen = asking = new AbortController();
    try {
      if (document.hidden) {
        await new Promise(resolve => document.addEventListener("visibilitychange", resolve, { once: true }));
        continue;
      }
      const answer = await fetch(`${base}api/v1/changes?from=${encodeURIComponent(from)}${only}`, { signal: seen.signal, redirect: "manual" });
      if (isOver(answer) && await leaveIfOver()) return; // the page says so
      if (!answer.ok) throw new Error(answer.statusText);
      const { head, changed } = await answer.json();
      if (away) meeting.regain?.();
      away = false;
      if (changed) await refresh(part.dataset.live);
      from = head;
      wait.answered();
      await pause(changed ? 700 : 0);
    } catch {
      if (seen.signal.aborted) continue;
      away = true;
      await pause(wait.again());
    }
  }
}

const part = $("[data-live][data-from]");
if (part) live(part);
document.addEventListener("visibilitychange", askWhenSeen);
addEventListener("pageshow", ({ persisted }) => { if (persisted) askWhenSeen(); });

// The banner counts by itself.
async function watchIndexing() {
  const wait = patience();
  while ($("[data-live=indexing]")) {
    await pause(2000);
    if (document.hidden) continue;
    const page = await readPage(`${base}status?banner`).catch(() => null);
    if (!page) {
      await pause(wait.again());
      continue;
    }
    wait.answered();
    const fresh = $("[data-live=indexing]", page), old = $("[data-live=indexing]");
    if (fresh) old.replaceChildren(...fresh.childNodes);
    else old.remove();
  }
}
watchIndexing();
