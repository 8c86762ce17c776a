// SPDX-License-Identifier: Apache-2.0
// The line that is always on top: connection, simulated time, how fast it runs, and what changes it.

import { h, setAttr, setClass, setText } from "./dom.js";
import * as format from "./format.js";

const SILENT_MS = 3000;
const BACK_NS = 1e9;
const text = new TextDecoder();

const STATES = { connecting: "connecting", connected: "connected", lost: "disconnected", closed: "closed" };

export class ClockBar {
  now = null; // the clock as /simd/clock has it
  simNs = 0; // simulated time, from whichever came last
  #app;
  #listeners = new Set();
  #session = "";
  #busy = false;
  #logVersion = -1;
  #rate = { at: 0, bytes: 0, text: "" };

  constructor(app) {
    this.#app = app;
    this.#build();
    app.link.subscribe("/simd/clock", (m) => this.#clock(JSON.parse(text.decode(m.data)).clock), { background: true });
    app.link.on("time", (ns) => this.#time(ns, this.now ? Infinity : BACK_NS));
    app.link.on("server", (server) => this.#server(server));
    for (const event of ["state", "server", "services"]) app.link.on(event, () => this.#showControls());
    this.#showControls();
  }

  // listener() whenever simulated time has jumped
  onJump(listener) {
    this.#listeners.add(listener);
  }

  #build() {
    const button = (id, label, title, onclick) => h("button", { id, title, onclick, type: "button" }, label);
    this.link = h("span", { id: "link-state", class: "chip", role: "status" });
    this.source = h("span", { id: "clock-source", title: "time source" });
    this.time = h("output", { id: "clock-time", class: "num", title: "simulated time, s", "aria-live": "off" });
    this.factor = h("span", { id: "clock-rtf", class: "num", title: "real-time factor: simulated per wall time that is reached" });
    this.state = h("span", { id: "clock-state", class: "chip" });
    this.pause = button("clock-pause", "pause", "", () => this.togglePause());
    this.stepButton = button("clock-step", "step", "", () => this.step());
    this.duration = h("input", {
      id: "clock-step-ms",
      type: "number",
      min: "0.001",
      max: "3600000",
      step: "any",
      value: "100",
      "aria-label": "duration of a step, ms",
    });
    this.scale = h("input", {
      id: "clock-scale",
      type: "number",
      min: "0",
      max: "100",
      step: "any",
      value: "1",
      "aria-label": "simulated per wall time that is asked for",
      onchange: () => this.#setScale(),
    });
    this.note = h("span", { id: "control-note", class: "dim" }, "view only");
    this.standing = button("standing", "", "", () => this.#app.goto("log"));
    this.theme = button("theme", "◐", "", () => this.#app.nextTheme());
    document
      .getElementById("clock-bar")
      .append(
        this.link,
        this.time,
        h("span", { class: "dim", "aria-hidden": "true" }, "s"),
        this.factor,
        this.state,
        this.source,
        h(
          "span",
          { class: "controls" },
          this.pause,
          this.stepButton,
          this.duration,
          h("span", { class: "dim" }, "ms"),
          h("label", { class: "dim" }, "× ", this.scale),
          this.note,
        ),
        h("span", { class: "fill" }),
        this.standing,
        this.theme,
      );
  }

  showTheme(theme) {
    setAttr(this.theme, "title", `colours: ${theme}`);
    setAttr(this.theme, "aria-label", `colours: ${theme}; press to change`);
  }

  // ---- time ----

  // Time comes by two ways, and may be a little older by one of them. Only the clock's own word takes it back.
  #time(ns, back) {
    if (ns >= this.simNs || this.simNs - ns > back) this.simNs = ns;
  }

  #jump() {
    this.simNs = 0;
    for (const listener of this.#listeners) listener();
  }

  // Another run of simd counts from its own start.
  #server({ sessionId }) {
    if (this.#session && sessionId !== this.#session) this.#jump();
    this.#session = sessionId;
  }

  // ---- what is shown ----

  #clock(clock) {
    if (clock === null || typeof clock !== "object") return;
    const before = this.now;
    this.now = clock;
    this.#app.log.clock(before, clock);
    if (before && before.clock_generation !== clock.clock_generation) this.#jump();
    this.#time(Number(clock.sim_ns) || 0, BACK_NS);
    if (document.activeElement !== this.scale && typeof clock.scale === "number") this.scale.value = String(clock.scale);
    this.#showControls();
  }

  frame(now) {
    setText(this.time, this.now || this.simNs ? format.seconds(this.simNs) : "–");
    setAttr(this.time, "data-ns", String(this.simNs));
    this.#showLink(now);
    this.#showStanding();
    const [word, kind, title] = this.#app.link.state === "connected" ? stateOf(this.now) : ["–", "", ""];
    setText(this.state, word);
    setClass(this.state, `chip ${kind}`);
    setAttr(this.state, "title", title);
    setText(this.source, this.now ? String(this.now.source) : "");
    setText(this.factor, this.now ? `${format.fixed(this.now.real_time_factor, 2)} ×` : "");
  }

  #showLink(now) {
    const { link } = this.#app;
    if (now - this.#rate.at > 1000) {
      const rate = ((link.received - this.#rate.bytes) * 1000) / (now - this.#rate.at);
      this.#rate = { at: now, bytes: link.received, text: `${format.megabytes(rate)} MB/s` };
    }
    const silent = link.state === "connected" && now - link.lastData > SILENT_MS;
    const word = silent
      ? `silent for ${format.age(now - link.lastData)}`
      : link.state === "connected"
        ? this.#rate.text
        : STATES[link.state];
    setText(this.link, word);
    setClass(this.link, `chip ${silent ? "warn" : link.state === "connected" ? "ok" : "bad"}`);
    setAttr(this.link, "title", link.why);
  }

  // What the server complains of now, such as messages that it dropped for this page.
  #showStanding() {
    const { log } = this.#app;
    if (this.#logVersion === log.version) return;
    this.#logVersion = log.version;
    const { standing } = log;
    this.standing.hidden = standing.length === 0;
    setText(this.standing, `${standing.length} ${standing.length === 1 ? "warning" : "warnings"}`);
    setAttr(
      this.standing,
      "title",
      standing
        .slice(0, 5)
        .map((e) => e.message)
        .join("\n"),
    );
  }

  // ---- what can be changed ----

  // Why a service cannot be called; "": it can.
  refusal(name) {
    const { link } = this.#app;
    if (link.state !== "connected") return `there is no connection: ${link.why}`;
    if (!this.#app.control)
      return "this connection is not allowed to change things: open the page with the address and token that the bridge grants control to";
    if (!link.services.has(name)) return `${name} is not offered by the server`;
    return "";
  }

  #enable(control, service, title) {
    const why = this.refusal(service);
    control.disabled = why !== "";
    setAttr(control, "title", why || title);
  }

  #showControls() {
    const paused = this.now?.paused || this.now?.pausing;
    setText(this.pause, paused ? "resume" : "pause");
    this.#enable(this.pause, paused ? "/simd/ResumeClock" : "/simd/PauseClock", paused ? "let time go on (space)" : "stop time (space)");
    this.#enable(this.stepButton, "/simd/StepClock", "advance a paused clock by the duration beside (n)");
    this.#enable(this.duration, "/simd/StepClock", "duration of a step, ms of simulated time");
    this.#enable(this.scale, "/simd/SetScale", "simulated per wall time that is asked for, 0.01 to 100; 0 pauses");
    if (!this.stepButton.disabled && (!this.now?.paused || this.#busy)) {
      this.stepButton.disabled = true;
      setAttr(this.stepButton, "title", this.#busy ? "a step has not ended" : "time is running: pause it first");
    }
    const why = this.refusal("/simd/PauseClock");
    this.note.hidden = why === "" || this.#app.link.state !== "connected";
    setAttr(this.note, "title", why);
  }

  async togglePause() {
    if (this.pause.disabled) return this.#app.toast(this.pause.title);
    const paused = this.now?.paused || this.now?.pausing;
    const reply = await this.#app.act(
      paused ? "/simd/ResumeClock" : "/simd/PauseClock",
      {},
      paused ? "resume the clock" : "pause the clock",
    );
    if (reply?.clock) this.#clock(reply.clock);
  }

  async step() {
    if (this.stepButton.disabled) return this.#app.toast(this.stepButton.title);
    const ns = Math.round(Number(this.duration.value) * 1e6);
    if (!(ns >= 1 && ns <= 3600e9)) return this.#app.toast("a step has 0.001 ms to 3 600 000 ms");
    this.#busy = true;
    this.#showControls();
    const reply = await this.#app.act("/simd/StepClock", { dur_ns: ns }, `step the clock by ${ns / 1e6} ms`);
    this.#busy = false;
    if (reply?.clock) this.#clock(reply.clock);
    else this.#showControls();
  }

  async #setScale() {
    const scale = Number(this.scale.value);
    if (this.scale.value === "" || !(scale === 0 || (scale >= 0.01 && scale <= 100))) {
      if (this.now) this.scale.value = String(this.now.scale);
      return this.#app.toast("the scale is 0.01 to 100, or 0 for a pause");
    }
    const reply = await this.#app.act("/simd/SetScale", { scale }, `set the scale to ${scale}`);
    if (reply?.clock) this.#clock(reply.clock);
    else if (this.now) this.scale.value = String(this.now.scale);
  }
}

// [word, kind, sentence]
function stateOf(clock) {
  if (!clock) return ["no clock", "", "the server sends no /simd/clock"];
  if (clock.stepping) return ["stepping", "warn", "a step has begun and has not ended"];
  if (clock.driver_lost) return ["driver lost", "bad", "the driver went without releasing its lease: time stands until another comes"];
  if (clock.driver_stopped) return ["driver stopped", "bad", "the driver's process stands still: time stands until it goes on"];
  if (clock.paused) return ["paused", "warn", "time stands, and messages are refused"];
  if (clock.pausing) return ["pausing", "warn", "paused as soon as the driver asks for more time"];
  if (Array.isArray(clock.waits_for) && clock.waits_for.length) return ["waiting", "warn", `time waits for ${clock.waits_for.join(", ")}`];
  if (!clock.started) return ["not started", "", clock.driven && !clock.driver ? "no driver has come yet" : "time has not begun"];
  if (clock.driven && !clock.driver) return ["no driver", "warn", "nobody holds the driver lease"];
  return [clock.freewheel ? "freewheel" : "running", "ok", clock.driver ? `driven by ${clock.driver.client}` : "time runs"];
}
