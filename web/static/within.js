// Searching within a meeting: as one types, by lines, and by speaker.
import { $, $$, button } from "./app.js";

const canMark = "highlights" in CSS; // otherwise the server marks, when the form is sent

// fold makes letters that are looked for alike equal, as the search does (text.FoldWord): those of
// other case or with an accent, and the signs that a keyboard lacks. Marks that make another letter
// stay, as those of й and of most scripts; signs that nobody sees go.
const accents = /[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0655\u0670\u20e3\ufe00-\ufe0f\u{e0100}-\u{e01ef}\u00ad\u200b\u200d\u2060\ufeff]/gu;
const spelledOut = { ß: "ss", æ: "ae", œ: "oe", ø: "o", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i", ς: "σ" };
export function fold(text) {
  return text.toLowerCase().normalize("NFKD").replace(/и(\p{M}*)\u0306/gu, "й$1").replace(accents, "").replace(/[ßæœøłđðþıς]/g, letter => spelledOut[letter])
    .toLowerCase().normalize("NFC").replace(/\s/g, " ")
    .replace(/[\u2018\u2019\u02bb\u02bc\u055a\u05f3\x60]/g, "'").replace(/[\u201c-\u201f\u00ab\u00bb]/g, '"').replace(/[\u2010-\u2015]/g, "-");
}

// ranges lists where a folded word stands in a line's text.
function ranges(paragraph, word) {
  const node = paragraph.firstChild, starts = [], ends = [];
  let folded = "";
  for (const { 0: letter, index } of node.data.matchAll(/\P{M}\p{M}*|\p{M}+/gu)) {
    const plain = fold(letter);
    for (let k = 0; k < plain.length; k++) {
      starts.push(index);
      ends.push(index + letter.length);
    }
    folded += plain;
  }
  const found = [];
  for (let i = folded.indexOf(word); i >= 0; i = folded.indexOf(word, i + word.length)) {
    const range = new Range();
    range.setStart(node, starts[i]);
    range.setEnd(node, ends[i + word.length - 1]);
    found.push(range);
  }
  return found;
}

export class Within {
  constructor(stage, page) {
    this.page = page;
    this.form = $("form.within", stage);
    this.lines = page.lines;
    this.matches = this.lines.filter(l => l.classList.contains("match"));
    if (!this.form) return;
    this.box = $("input", this.form);
    this.count = $(".count", this.form);
    this.speaker = $("select", this.form);
    this.ticks = $(".timeline .hits", stage);
    this.steps = [button("↑", "Previous match (p)", () => this.step(-1)), button("↓", "Next match (n)", () => this.step(1))];
    this.count.after(...this.steps);
    if (!this.speaker?.value) this.speaker?.addEventListener("change", () => this.filter());
    else this.speaker.addEventListener("change", () => this.form.submit()); // the others' lines are not here
    this.box.addEventListener("keydown", e => this.key(e));
    if (canMark) {
      $("button:not([type])", this.form).hidden = true;
      this.box.addEventListener("input", () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.find(), 120); });
      this.form.addEventListener("submit", e => { e.preventDefault(); this.find(); this.step(1, true); });
    }
    this.tell();
  }

  // key leads from the box to the archive's by a second slash.
  key(e) {
    const { selectionStart, selectionEnd, value } = this.box;
    if (e.key === "/" && selectionStart === 0 && selectionEnd === value.length) {
      const box = $("input[name=q]");
      box.focus();
      box.select();
    } else if (e.key === "Enter" && e.shiftKey && canMark) {
      this.step(-1, true);
    } else if (e.key !== "Escape") return; // which would delete the words
    e.preventDefault();
  }

  // find marks the lines with the box's words.
  find() {
    clearTimeout(this.timer);
    const word = fold(this.box.value.trim());
    if (word === (this.word ?? fold(this.box.defaultValue))) return;
    this.word = word;
    this.at = undefined;
    for (const p of new Set($$(".lines mark").map(m => m.closest("p")))) p.textContent = p.textContent;
    this.folded ??= this.lines.map(l => fold($("p", l).textContent));
    const marks = [];
    this.matches = [];
    for (const [i, line] of this.lines.entries()) {
      const found = word !== "" && this.folded[i].includes(word);
      line.classList.toggle("match", found);
      if (!found) continue;
      marks.push(...ranges($("p", line), word));
      this.matches.push(line);
    }
    CSS.highlights.set("found", new Highlight(...marks));
    this.remember("find", this.box.value.trim());
    this.tell();
  }

  // filter hides the lines of other speakers.
  filter() {
    let who = "";
    for (const line of this.lines) {
      who = $(".who", line)?.textContent ?? who;
      line.hidden = this.speaker.value !== "" && who !== this.speaker.value;
    }
    const at = this.lines.indexOf(this.page.tabbed);
    if (this.page.tabbed?.hidden) this.page.tabTo(this.lines.find((l, i) => i > at && !l.hidden) ?? this.lines.findLast(l => !l.hidden));
    this.remember("speaker", this.speaker.value);
    this.tell();
  }

  remember(key, value) {
    const url = new URL(location);
    if (value) url.searchParams.set(key, value); else url.searchParams.delete(key);
    history.replaceState(history.state, "", url);
  }

  shown() { return this.matches.filter(l => !l.hidden); }

  // step goes to the next or previous line that matches. The first one for words that
  // were just typed may be the line that is being read.
  step(by, stay = false) {
    const shown = this.shown();
    if (!shown.length) return;
    const here = this.lines.indexOf(this.at ?? $(".lines .here, .lines .now") ?? this.lines[0]);
    const from = by > 0 && !this.at && this.word !== undefined ? here - 1 : here;
    const order = by > 0 ? shown : [...shown].reverse();
    this.at?.classList.remove("found");
    this.at = order.find(l => by > 0 ? this.lines.indexOf(l) > from : this.lines.indexOf(l) < from) ?? order[0];
    this.at.classList.add("found");
    this.page.follow(false);
    if (!stay) this.page.focus(this.at);
    this.page.show(this.at);
    this.tell();
  }

  // tell says how many lines match and which one is shown, and marks them on the bar.
  tell() {
    const shown = this.shown(), at = shown.indexOf(this.at);
    this.count.textContent = !this.box.value.trim() ? "" : !shown.length ? "Nothing found"
      : at < 0 ? `${shown.length} ${shown.length === 1 ? "line" : "lines"}` : `${at + 1} of ${shown.length}`;
    for (const b of this.steps) b.hidden = !shown.length;
    if (!this.ticks) return;
    const svg = this.ticks.ownerSVGElement, length = Number(svg.dataset.length);
    let last = -9;
    const ticks = [];
    for (const line of shown) {
      const x = 1000 * Number(line.dataset.t) / length;
      if (x > 1000 || Math.abs(x - last) < 2) continue; // after the end, or too near to be told apart
      const tick = document.createElementNS(svg.namespaceURI, "rect");
      for (const [key, value] of Object.entries({ x: Math.min(997.5, x), y: 0, width: 2.5, height: svg.viewBox.baseVal.height })) tick.setAttribute(key, value);
      ticks.push(tick);
      last = x;
    }
    this.ticks.replaceChildren(...ticks);
  }
}
