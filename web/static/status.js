// The status as it changes. The page is whole without this file.
import { $, $$, base, leaveIfOver, patience, readPage } from "./app.js";

const live = "main [data-live]"; // the banner above it is another's

// refreshParts replaces the parts of the page that have changed, except the one in which the
// reader is.
async function refreshParts() {
  const page = await readPage(location.pathname);
  const whole = page && $(live, page);
  if (!whole) return; // it may ask to sign in
  const old = $$(`${live} [data-part]`), fresh = $$("[data-part]", whole);
  if (old.length !== fresh.length) { // an account came or went
    if (!$(live).contains(document.activeElement)) $(live).replaceChildren(...whole.childNodes);
    return;
  }
  old.forEach((part, i) => {
    if (part.innerHTML !== fresh[i].innerHTML && !part.contains(document.activeElement)) part.replaceChildren(...fresh[i].childNodes);
  });
}

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

let source, known, timer;
const wait = patience();
function listen() {
  source?.close();
  clearTimeout(timer);
  if (document.hidden) return;
  source = new EventSource(`${base}api/v1/status/events`);
  source.addEventListener("status", async ({ data }) => {
    const status = JSON.parse(data);
    wait.answered();
    away.replaceChildren();
    showBudget(status);
    const rest = JSON.stringify(status, (key, value) => key === "budget" || key === "calls" ? undefined : value);
    try {
      if (known !== undefined && rest !== known) await refreshParts();
      known = rest;
    } catch { /* the next event tries it again */ }
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
