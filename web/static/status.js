// The status as it changes. The page is whole without this file.
import { $, $$, base, leaveIfOver, patience, readPage } from "./app.js";

const live = "main [data-live]"; // the banner above it is another's

// refreshParts replaces the parts of the page that have changed, except the one in which the
// reader is. It reports whether the page is all new.
async function refreshParts() {
  const page = await readPage(location.pathname);
  const whole = page && $(live, page), shown = $(live);
  if (!whole) return false; // it may ask to sign in
  const old = $$("[data-part]", shown), fresh = $$("[data-part]", whole), isRead = part => part.contains(document.activeElement);
  if (old.length !== fresh.length) { // an account came or went
    if (isRead(shown)) return false;
    shown.replaceChildren(...whole.childNodes);
    return true;
  }
  const changed = old.map((part, i) => [part, fresh[i]]).filter(([part, now]) => part.innerHTML !== now.innerHTML);
  const left = changed.filter(([part]) => isRead(part));
  for (const [part, now] of changed) if (!isRead(part)) part.replaceChildren(...now.childNodes);
  return !left.length;
}

// catchUp brings the page to the latest status, one after the other.
let known, latest, isBusy = false;
async function catchUp() {
  known ??= latest; // the page was made with the first one
  if (isBusy) return;
  isBusy = true;
  try {
    for (let next = latest; next !== known; next = latest) {
      if (!await refreshParts()) break;
      known = next;
    }
  } catch { /* the next event tries it again */ }
  isBusy = false;
}
$(live).addEventListener("focusout", () => setTimeout(catchUp)); // the focus is elsewhere then

// showBudget moves the meters, which change most often.
function showBudget({ accounts }) {
  for (const { name, budget } of accounts) for (const { class: kind, used, limit, waiting } of budget ?? []) {
    const label = $$("[data-budget]").find(e => e.dataset.budget === `${name} ${kind}`);
    if (!label) continue;
    Object.assign($("meter", label), { max: limit, value: used });
    $(".n", label).textContent = `${used} of ${limit}${waiting ? `, ${waiting} waiting` : ""}`;
  }
}

// showAway says since when the page shows what was, until events come again.
const away = $("[data-away]");
function showAway() {
  if (away.hasChildNodes()) return;
  const said = document.createElement("p"), again = document.createElement("a");
  said.className = "note gone";
  again.href = location.pathname;
  again.textContent = "Load the page again";
  said.append(`Not connected since ${new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })}. This is how it was then; it is tried again. `, again);
  away.append(said);
}

let source, timer;
const wait = patience();
function listen() {
  source?.close();
  clearTimeout(timer);
  if (document.hidden) return;
  source = new EventSource(`${base}api/v1/status/events`);
  source.addEventListener("status", ({ data }) => {
    const status = JSON.parse(data);
    wait.answered();
    away.replaceChildren();
    showBudget(status);
    latest = JSON.stringify(status, (key, value) => key === "budget" || key === "calls" ? undefined : value);
    catchUp();
  });
  for (const kind of ["end", "error"]) source.addEventListener(kind, async () => { // the archive stops, and may come back
    source.close();
    if (await leaveIfOver().catch(() => false)) return;
    showAway();
    clearTimeout(timer);
    timer = setTimeout(listen, wait.again());
  });
}
document.addEventListener("visibilitychange", listen);
addEventListener("pagehide", () => source?.close());
listen();
