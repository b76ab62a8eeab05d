// Words that are selected in the transcript become a quote or a clip.
import { $, button, clock, settle } from "./app.js";

const escape = text => text.replace(/[\\\x60*_{}[\]<>#|~&]/g, "\\$&");

export class Quote {
  constructor(page) {
    this.page = page;
    if (!page.list) return;
    this.bar = document.createElement("div");
    this.bar.className = "quotebar";
    this.bar.role = "group";
    this.bar.ariaLabel = "The selected words";
    this.bar.hidden = true;
    this.open = document.createElement("a");
    this.open.className = "button";
    this.open.textContent = "Open clip";
    this.open.href = location.pathname;
    this.bar.append(
      button("Copy quote", "Copy the words with speaker, date and link", e => this.copy(e, () => this.plain())),
      button("Markdown", "Copy the quote as Markdown", e => this.copy(e, () => this.markdown())),
      button("Copy clip link", "Copy a link that plays just these words", e => this.copy(e, () => this.clip().href)),
      button("Note", "Write a note on this moment", () => this.note()), this.open);
    for (const kind of ["mousedown", "touchstart"]) this.bar.addEventListener(kind, e => { if (e.target !== this.open) e.preventDefault(); }); // keeps the selection
    document.body.append(this.bar);
    document.addEventListener("selectionchange", () => this.look());
    document.addEventListener("keydown", e => { if (e.key === "Escape" && !this.bar.hidden) this.close(); });
  }

  // look reads the selection: the lines and their words.
  look() {
    const selection = getSelection();
    const range = selection.rangeCount && !selection.isCollapsed ? selection.getRangeAt(0) : null;
    this.parts = range && this.page.list.contains(range.commonAncestorContainer) ? this.read(range) : [];
    this.bar.hidden = !this.parts.length;
    if (this.parts.length) this.open.href = this.clip().href;
  }

  // close gives the words up. The focus goes back to their line when it was in the bar.
  close() {
    if (this.bar.contains(document.activeElement)) this.page.focus(this.parts[0].line);
    getSelection().removeAllRanges();
  }

  read(range) {
    const parts = [];
    let who = "";
    for (const line of this.page.lines) {
      who = $(".who", line)?.textContent ?? who;
      const p = $("p", line);
      if (line.hidden || !range.intersectsNode(p)) continue;
      const words = document.createRange();
      words.selectNodeContents(p);
      if (p.contains(range.startContainer)) words.setStart(range.startContainer, range.startOffset);
      if (p.contains(range.endContainer)) words.setEnd(range.endContainer, range.endOffset);
      const text = words.toString().trim();
      if (!text) continue;
      const before = document.createRange();
      before.setStart(p, 0);
      before.setEnd(words.startContainer, words.startOffset);
      const from = before.toString().length;
      parts.push({ line, who, text, from, to: from + words.toString().length, length: p.textContent.length });
    }
    return parts;
  }

  // moment is when a letter of a line is said: its lines alone are dated, so that the
  // words between are put at even distances.
  moment({ line, length }, letter) {
    const i = this.page.lines.indexOf(line), from = this.page.times[i];
    const next = this.page.times.find((t, j) => j > i && t > from) ?? Infinity;
    return from + Math.min(next - from, Math.max(2, length * 0.08)) * letter / Math.max(1, length);
  }

  // link is the page at the first word, with the parameters of others.
  link(end) {
    const url = new URL(location.pathname, location), first = this.parts[0], last = this.parts.at(-1);
    const from = Math.max(this.moment(first, 0), this.moment(first, first.from) - 0.5);
    if (!end) url.searchParams.set("t", Math.floor(from));
    else {
      url.searchParams.set("t", Number(from.toFixed(1)));
      url.searchParams.set("end", Number((Math.max(from + 1, this.moment(last, last.to) + 0.5)).toFixed(1)));
    }
    return url;
  }

  clip() { return this.link(true); }

  // source names the meeting: title, day, if it has one, and moment.
  source() {
    const day = $(".head time")?.textContent.replace(/^[^,]*, |, [^,]*$/g, ""), at = clock(this.moment(this.parts[0], this.parts[0].from));
    return [$("h1").textContent, day, at].filter(Boolean).join(", ");
  }

  // said joins successive parts of one speaker.
  said() {
    const all = [];
    for (const { who, text } of this.parts) {
      if (all.at(-1)?.who === who) all.at(-1).text += ` ${text}`;
      else all.push({ who, text });
    }
    return all;
  }

  plain() {
    return `${this.said().map(({ who, text }) => `${who}: “${text}”`).join("\n")}\n— ${this.source()}\n${this.link(false).href}`;
  }

  markdown() {
    const said = this.said().map(({ who, text }) => `> **${escape(who)}:** ${escape(text)}\n>\n`).join("");
    return `${said}> — [${escape(this.source())}](${this.link(false).href})\n`;
  }

  // note opens the form for a note on the first word.
  note() {
    const form = $(".addnote");
    form.open = true;
    $("input[name=at]", form).value = clock(this.moment(this.parts[0], this.parts[0].from));
    settle(() => form.scrollIntoView({ block: "center" }));
    $("textarea", form).focus();
  }

  async copy(e, write) {
    const pressed = e.currentTarget, name = pressed.textContent, text = write();
    try {
      await navigator.clipboard.writeText(text);
      pressed.textContent = "Copied";
    } catch {
      pressed.textContent = "The browser refused";
    }
    setTimeout(() => { pressed.textContent = name; }, 1600);
  }
}
