// A meeting's page: the recording and its transcript. The page works without it.
import { $, $$, button, clock, isPlain, meeting, recall, remember, settle } from "./app.js";
import { Quote } from "./quote.js";
import { Within } from "./within.js";

const still = matchMedia("(prefers-reduced-motion: reduce)");

// leads tells whether an event leads the reader elsewhere in the page: they write or unfold, go to
// a part, or scroll by the keys or the bar.
const leads = {
  focusin: ({ target }) => target.matches("textarea, input, summary") && !target.closest(".lines, .deck, .within"),
  click: ({ target }) => !!target.closest('a[href^="#"]'),
  pointerdown: ({ clientX }) => clientX >= document.documentElement.clientWidth,
  keydown: ({ key, shiftKey, target }) => !target.closest("input, select, textarea, video, audio")
    && (["PageUp", "PageDown", "Home", "End", "ArrowUp", "ArrowDown"].includes(key) || key === " " && shiftKey && !target.closest("button, summary")),
};

class Meeting {
  constructor(stage) {
    this.id = stage.dataset.meeting;
    this.lines = $$(".lines > li", stage);
    for (const l of this.lines) l.dataset.t = $("a.clock", l).textContent.split(":").reduce((seconds, part) => 60 * seconds + Number(part), 0);
    this.times = this.lines.map(l => Number(l.dataset.t));
    this.list = $(".lines", stage);
    this.timeline = $("svg.timeline", stage);
    this.head = this.timeline && $("line.head", this.timeline);
    this.following = true;
    this.asked = Number(stage.dataset.at ?? NaN);
    this.end = Number(stage.dataset.end ?? NaN);
    this.deck = $(".deck", stage);
    this.resume = button("Follow the recording", "", () => this.follow(true));
    this.resume.className = "resume";
    this.resume.hidden = true;
    this.edition = stage.dataset.edition;
    this.renewed = document.createElement("div");
    this.renewed.role = "status"; // heard when something comes
    document.body.append(this.resume, this.renewed);
    stage.addEventListener("click", e => this.click(e));
    this.timeline?.addEventListener("click", e => this.clickTimeline(e));
    for (const kind of ["wheel", "touchmove"]) addEventListener(kind, () => this.wander(), { passive: true });
    // A glide can undo the browser's own jump to a part.
    document.addEventListener("click", e => { if (leads.click(e) && isPlain(e)) requestAnimationFrame(() => settle(() => $(":target")?.scrollIntoView())); });
    for (const [kind, does] of Object.entries(leads)) document.addEventListener(kind, e => { if (does(e)) this.wander(); });
    for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(kind, () => { this.arrived = true; }, { passive: true, once: true });
    this.arrived = performance.getEntriesByType("navigation")[0]?.type !== "navigate"; // then the browser knows the place
    new ResizeObserver(() => this.measure()).observe(this.deck);
    this.setUpTabs();
    this.within = new Within(stage, this);
    meeting.box = this.within.box;
    this.quote = new Quote(this);
    this.attach();
  }

  // attach takes hold of the player; called again when a recording arrives.
  attach() {
    this.media = $("#media");
    if (!this.media) return;
    this.list?.setAttribute("data-seek", "");
    this.timeline?.setAttribute("data-seek", "");
    this.addControls();
    const m = this.media;
    m.addEventListener("timeupdate", () => this.tick());
    m.addEventListener("seeked", () => this.tick(true));
    for (const kind of ["play", "pause"]) m.addEventListener(kind, () => this.tick());
    m.addEventListener("loadedmetadata", () => { this.tellEnd(); this.reach(); });
    m.addEventListener("error", () => this.lose());
    for (const kind of ["stalled", "progress"]) m.addEventListener(kind, () => { this.stalled = kind === "stalled"; });
    m.addEventListener("play", () => { if (this.isLost()) this.regain(true); });
    m.addEventListener("ratechange", () => { this.rate.textContent = `${m.playbackRate}×`; this.rate.ariaLabel = `${m.playbackRate}× speed`; });
    this.tellEnd(); // the browser may know it already
    if (this.asked >= 0) this.seek(this.asked, false);
    else this.tick();
    if (m.error) this.lose();
  }

  addControls() {
    const bar = document.createElement("div");
    bar.className = "controls";
    this.now = document.createElement("span");
    this.now.className = "now";
    this.play = button("Play", "Play and pause (space)", () => this.playPause());
    this.play.className = "play";
    this.rate = button("1×", "Playing speed (< and >)", () => this.speed(1, true));
    this.rate.ariaLabel = "1× speed";
    this.toggle = button("Follow", "Follow the recording in the transcript (f)", () => this.follow(!this.following));
    this.toggle.setAttribute("aria-pressed", "true");
    this.copier = button("Copy link", "Copy a link to this moment (c)", () => this.copy());
    this.folder = button("Fold", "Fold the recording away", () => this.fold());
    this.folder.className = "folder";
    bar.append(this.play, this.now, this.rate, this.folder, this.toggle, this.copier);
    if (document.pictureInPictureEnabled && this.media.localName === "video") {
      const pop = button("Pop out", "Picture in picture: the recording in a window of its own", () => this.popOut());
      pop.className = "pip";
      bar.append(pop);
    }
    this.media.closest("#player").append(bar);
    this.now.textContent = clock(0);
    const rate = Number(recall("rate"));
    if (rate >= 0.5 && rate <= 3) this.media.playbackRate = rate;
  }

  // seek goes to a moment, once the recording is there to be moved in.
  seek(seconds, play) {
    const m = this.media;
    if (!m) return;
    this.target = { seconds, play };
    if (m.error) this.load();
    else if (m.readyState >= 1) this.reach();
    else if (play && m.preload === "none") this.begin(); // nothing else makes the browser read it
    this.mark(seconds, false);
  }

  // reach goes where seek has asked to go.
  reach() {
    if (!this.target) return;
    const m = this.media, { seconds, play } = this.target;
    this.target = undefined;
    this.play.parentNode.classList.remove("lost");
    m.currentTime = Number.isFinite(m.duration) ? Math.min(seconds, m.duration) : seconds;
    if (play) this.begin();
    this.tick();
  }

  // tellEnd marks the first line that is after the end of the recording.
  tellEnd() {
    const line = this.lines.find(l => Number(l.dataset.t) > this.media.duration);
    if (!line || $(".beyond", line)) return;
    const said = document.createElement("small");
    said.className = "quiet beyond";
    said.textContent = "after the end of the recording";
    $("a.clock", line).before(said);
  }

  // seconds is the moment at which the recording is, or will be.
  get seconds() { return this.target?.seconds ?? this.media.currentTime; }

  begin() { this.media.play().catch(() => { /* the reader has to press play */ }); }

  playPause() {
    if (this.media.error) this.regain(true);
    else if (this.media.paused) this.begin();
    else this.media.pause();
  }

  // isLost tells whether the browser has given the recording up, or waits in vain for more
  // of it: the archive does not answer, or did not for half a minute.
  isLost() {
    const m = this.media;
    return !!m && (!!m.error || this.stalled && m.readyState < 3);
  }

  lose() {
    this.target ??= { seconds: this.media.currentTime, play: false };
    this.play.parentNode.classList.add("lost");
    this.play.textContent = "Play";
    this.now.textContent = "Does not load";
  }

  // regain loads a lost recording again, at its moment.
  regain(play = this.target?.play) {
    if (!this.isLost()) return;
    this.target = { seconds: this.seconds, play };
    this.load();
  }

  // load keeps the speed, which the browser would forget.
  load() {
    this.stalled = false;
    this.media.defaultPlaybackRate = this.media.playbackRate;
    this.media.load();
  }

  async popOut() {
    try {
      if (document.pictureInPictureElement) await document.exitPictureInPicture();
      else await this.media.requestPictureInPicture();
    } catch { /* the browser has no recording to show yet */ }
  }

  // fold leaves only the controls of a recording that stays above the text.
  fold() {
    const folded = this.deck.classList.toggle("folded");
    this.folder.textContent = folded ? "Unfold" : "Fold";
    this.folder.setAttribute("aria-expanded", String(!folded));
  }

  // measure tells the style how much of the window the recording covers, so that
  // no line is scrolled under it.
  measure() {
    const root = document.documentElement.style;
    if (getComputedStyle(this.deck).position === "sticky") root.setProperty("--stuck", `${this.deck.offsetHeight}px`);
    else root.removeProperty("--stuck");
    if (!this.arrived) this.arrive();
  }

  // arrive puts the line that the address names where it belongs, again whenever the
  // recording above it takes another height, until the reader moves.
  arrive() {
    const named = this.lines.find(l => l.matches(":target") && !(this.asked >= 0 && Math.floor(this.asked) !== Number(l.dataset.t))); // another transcript may have come since
    const said = this.asked >= 0 && $(".lines .here, .lines .now");
    if (named) named.scrollIntoView({ behavior: "instant" });
    else if (said) said.scrollIntoView({ block: "center", behavior: "instant" });
  }

  // setUpTabs makes the whole transcript one stop of the Tab key.
  setUpTabs() {
    for (const l of this.lines) $("a.clock", l).tabIndex = -1;
    this.tabTo($(".lines .here") ?? this.lines[0]);
  }

  tabTo(line) {
    if (!line || line.hidden) return;
    if (this.tabbed) $("a.clock", this.tabbed).tabIndex = -1;
    $("a.clock", line).tabIndex = 0;
    this.tabbed = line;
  }

  click(e) {
    if (!isPlain(e)) return;
    const timed = e.target.closest('a[data-t], .prose a[href^="?t="]');
    const line = e.target.closest(".lines > li");
    if (!timed && !line || !this.media || !String(getSelection()).trim() === false) return;
    if (!timed && e.target.closest("a") && !e.target.closest("a.clock")) return;
    e.preventDefault();
    const { t } = (timed ?? line).dataset;
    this.go(Number(t ?? new URLSearchParams(timed.search).get("t")));
  }

  // go plays from a moment, shows its line and makes the address say so.
  go(seconds) {
    this.arrived = true;
    this.end = NaN;
    this.follow(true, false);
    this.seek(seconds, true);
    if (this.current && !this.sees(this.current)) this.show(this.current);
    const url = new URL(location);
    url.searchParams.set("t", Math.floor(seconds));
    url.searchParams.delete("end");
    url.hash = "";
    history.replaceState(history.state, "", url);
  }

  clickTimeline(e) {
    if (e.target.closest("a")) return; // leads to its own moment
    const box = this.timeline.getBoundingClientRect();
    const length = Number(this.timeline.dataset.length);
    if (this.media && length) this.go(Math.max(0, (e.clientX - box.left) / box.width) * length);
  }

  // at is the index of the line being said at a moment: times may run backwards.
  at(seconds) {
    return this.times.reduce((line, t, i) => t <= seconds && !(t <= this.times[line]) ? i : line, -1);
  }

  tick(moved = false) {
    if (this.target) return; // what is shown is where it will be
    const seconds = this.media.currentTime;
    if (seconds >= this.end) { // a clip is over, and plays on when asked to
      this.end = NaN;
      this.media.pause();
    }
    this.play.textContent = this.media.paused ? "Play" : "Pause";
    this.now.textContent = Number.isFinite(this.media.duration) ? `${clock(seconds)} / ${clock(this.media.duration)}` : clock(seconds);
    const playing = !this.media.paused;
    this.mark(seconds, this.following && (moved || playing || this.played)); // a line can begin with the pause
    this.played = playing;
  }

  // mark shows a moment in transcript and timeline.
  mark(seconds, scroll) {
    if (this.head) {
      const x = 1000 * Math.min(1, seconds / Number(this.timeline.dataset.length));
      this.head.removeAttribute("hidden");
      this.head.setAttribute("x1", x);
      this.head.setAttribute("x2", x);
    }
    const line = this.lines[this.at(seconds + 0.05)];
    if (line === this.current) return;
    this.current?.classList.remove("now");
    this.current?.removeAttribute("aria-current");
    for (const l of $$(".lines .here")) l.classList.remove("here");
    this.current = line;
    line?.classList.add("now");
    line?.setAttribute("aria-current", "true");
    if (!this.list?.contains(document.activeElement)) this.tabTo(line);
    if (scroll && line) this.show(line);
  }

  // sees tells whether a line is whole in the window, below the bar that covers its top.
  sees(line) {
    const { top, bottom } = line.getBoundingClientRect();
    return top >= parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) && bottom <= innerHeight;
  }

  // show brings a line to the middle: gliding when it is near, at once when far.
  show(line) {
    this.arrived = true;
    if (line.hidden) return; // of a speaker who is left out
    const { top, height } = line.getBoundingClientRect();
    const near = Math.abs(top) < 2 * innerHeight && !still.matches;
    settle(() => line.scrollIntoView({ block: height > innerHeight / 2 ? "start" : "center", behavior: near ? "smooth" : "instant" }), near);
  }

  // focus moves to a line's time without scrolling there.
  focus(line) {
    this.tabTo(line);
    $("a.clock", line).focus({ preventScroll: true });
  }

  follow(on, show = true) {
    this.following = on;
    this.toggle?.setAttribute("aria-pressed", String(on));
    this.resume.hidden = true;
    if (on && show && this.current) this.show(this.current);
  }

  // changed offers the meeting as it is now. A page without a transcript, in which nobody
  // writes, becomes it at once.
  changed(edition) {
    if (!edition || edition === this.edition) return;
    this.edition = edition;
    if (!this.lines.length && !(this.media && !this.media.paused) && !$("details[open] textarea")) return void location.reload();
    const show = button("The meeting has changed: show it", "", () => location.reload());
    show.className = "resume renew";
    this.renewed.replaceChildren(show);
  }

  // wander is the reader looking elsewhere: the page stays where they are.
  wander() {
    if (!this.following || !this.media || this.media.paused) return;
    this.follow(false);
    this.resume.hidden = false;
  }

  speed(step, round) {
    if (!this.media) return;
    const rates = [0.75, 1, 1.25, 1.5, 1.75, 2, 2.5];
    const at = rates.findIndex(r => r >= this.media.playbackRate - 0.01) + step;
    this.media.playbackRate = rates[round ? at % rates.length : Math.min(rates.length - 1, Math.max(0, at))];
    remember("rate", this.media.playbackRate);
  }

  // copy copies a link to the moment of the recording; where there is none, to the line of the
  // reader, else to the moment of the address.
  async copy() {
    const url = new URL(location.pathname, location);
    const line = document.activeElement?.closest(".lines > li") ?? $(".lines .here");
    url.searchParams.set("t", Math.floor(this.media ? this.seconds : line?.dataset.t ?? (this.asked || 0)));
    const said = this.copier ?? document.createElement("div");
    try {
      await navigator.clipboard.writeText(url.href);
      said.textContent = "Copied";
    } catch {
      history.replaceState(history.state, "", url);
      said.textContent = "In the address bar";
    }
    if (said !== this.copier) {
      said.className = "resume";
      this.renewed.append(said);
    }
    setTimeout(() => { if (said === this.copier) said.textContent = "Copy link"; else said.remove(); }, 1600);
  }

  // step moves line by line; enter plays from the line.
  step(by) {
    const shown = this.lines.filter(l => !l.hidden);
    const focused = shown.indexOf(document.activeElement?.closest?.(".lines > li"));
    const from = focused >= 0 ? focused : shown.indexOf(this.current);
    const line = shown[Math.min(shown.length - 1, Math.max(0, from + by))];
    if (!line) return;
    this.follow(false);
    this.focus(line);
    settle(() => line.scrollIntoView({ block: "center" }));
  }

  key(e) {
    const m = this.media;
    switch (e.key) {
      case "j": this.step(1); return true;
      case "k": this.step(-1); return true;
      case "n": this.within.step(1); return true;
      case "p": this.within.step(-1); return true;
      case "c": this.copy(); return true;
    }
    if (!m || e.target === m || e.key.startsWith("Arrow") && e.target.closest("table, .scroll")) return false;
    switch (e.key) {
      case " ": if (e.shiftKey) return false; if (!e.repeat) this.playPause(); return true;
      case "ArrowLeft": m.currentTime = Math.max(0, m.currentTime - 5); return true;
      case "ArrowRight": m.currentTime += 5; return true;
      case "<": this.speed(-1, false); return true;
      case ">": this.speed(1, false); return true;
      case "f": this.follow(!this.following); return true;
    }
    return false;
  }
}

const stage = $("[data-meeting]");
if (stage) {
  const page = new Meeting(stage);
  meeting.key = e => page.key(e);
  meeting.attach = () => page.attach();
  meeting.changed = edition => page.changed(edition);
  meeting.regain = () => page.regain();
}
