// The days of a year with meetings are one stop of the Tab key; the arrows move among them.
const days = [...document.querySelectorAll(".year td > a")];

function place(day) {
  const row = day.closest("tr");
  return { column: [...row.cells].indexOf(day.parentElement), week: [...document.querySelectorAll(".year tbody tr")].indexOf(row) };
}

function focus(day) {
  if (!day) return;
  for (const other of days) other.tabIndex = other === day ? 0 : -1;
  day.focus();
}

// near returns the day with meetings that is next in the same column, downwards or upwards.
function near(day, step) {
  const at = place(day);
  const same = days.filter(other => place(other).column === at.column);
  return same[same.indexOf(day) + step];
}

for (const [i, day] of days.entries()) {
  day.tabIndex = i === days.length - 1 ? 0 : -1;
  day.addEventListener("keydown", e => {
    if (e.altKey || e.ctrlKey || e.metaKey) return;
    const to = { ArrowRight: () => days[i + 1], ArrowLeft: () => days[i - 1], ArrowDown: () => near(day, 1), ArrowUp: () => near(day, -1), Home: () => days[0], End: () => days.at(-1) }[e.key];
    if (!to) return;
    e.preventDefault();
    focus(to());
  });
}
