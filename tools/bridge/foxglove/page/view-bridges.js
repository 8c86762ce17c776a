// SPDX-License-Identifier: Apache-2.0
// Connections to other middlewares: their states and counters, and where they connect to.

import { Keyed, h, setAttr, setClass, setText } from "./dom.js";
import * as format from "./format.js";

const text = new TextDecoder();

const KINDS = {
  connected: "ok",
  connecting: "warn",
  disconnecting: "warn",
  disconnected: "warn",
  "unexpectedly-disconnected": "bad",
  permanent: "bad",
};
const COUNTERS = [
  ["sent", "published at the far side"],
  ["failed", "refused by its plug-in, late, or lost with its process"],
  ["dropped", "never handed to it"],
  ["queued", "wait in simd"],
  ["held", "the bridge has them"],
  ["bytes", "sent, by its own account"],
  ["restarts", "of its process"],
  ["lanes", "conversion threads"],
];
const BAD = new Set(["failed", "dropped"]);

// One bridge, made once: what somebody types into it survives the next reply.
class Card {
  constructor(app, name) {
    this.app = app;
    this.name = name;
    this.status = h("span", { class: "chip" });
    this.kind = h("span", { class: "dim" });
    this.detail = h("p", { class: "detail" });
    this.extra = h("p", { class: "dim" });
    this.connection = h("input", {
      type: "text",
      "aria-label": `connection of ${name}`,
      spellcheck: "false",
      autocomplete: "off",
      oninput: () => this.#edited(),
    });
    this.connect = h("button", { type: "submit", dataset: { action: "connect" } }, "connect");
    this.restart = h("button", { type: "button", dataset: { action: "restart" }, onclick: () => this.#restart() }, "restart");
    this.form = h("form", { onsubmit: (e) => this.#connect(e) }, this.connection, this.connect, this.restart);
    this.counters = new Map(COUNTERS.map(([key, title]) => [key, h("dd", { class: "num", title, dataset: { counter: key } })]));
    this.topicRows = h("tbody");
    this.topics = new Keyed(this.topicRows, () => this.#topicRow());
    this.summary = h("summary");
    this.element = h(
      "article",
      { class: "card", dataset: { bridge: name } },
      h("h2", {}, name, this.kind, this.status),
      this.detail,
      this.form,
      h("dl", {}, ...COUNTERS.map(([key, title]) => h("div", {}, h("dt", { title }, key), this.counters.get(key)))),
      this.extra,
      h("details", {}, this.summary, h("table", {}, this.topicRows)),
    );
  }

  #topicRow() {
    const cells = [h("td"), h("td"), h("td", { class: "dim" })];
    return {
      element: h("tr", {}, ...cells),
      update: (t) => {
        setText(cells[0], t.channel);
        setText(cells[1], t.name && t.name !== t.channel ? `→ ${t.name}` : "");
        setText(cells[2], t.why ? t.why : t.type);
        setClass(cells[2], t.why ? "warn" : "dim");
      },
    };
  }

  update(b) {
    this.bridge = b;
    this.element.dataset.status = b.status;
    setText(this.kind, b.rig ? `${b.type}, rig ${b.rig}` : b.type);
    setText(this.status, b.status);
    setClass(this.status, `chip ${KINDS[b.status] ?? ""}`);
    setText(this.detail, b.detail ?? "");
    this.detail.hidden = !b.detail;
    if (!this.edited && this.connection.value !== b.connection) this.connection.value = b.connection ?? "";
    this.#controls();
    for (const [key, cell] of this.counters) {
      setText(cell, key === "bytes" ? format.bytes(b.bytes) : format.count(b[key]));
      setClass(cell, `num ${BAD.has(key) && b[key] > 0 ? "bad" : ""}`);
    }
    const topics = Array.isArray(b.topics) ? b.topics.filter((t) => t !== null && typeof t === "object") : [];
    this.topics.update(topics, (t) => `${t.channel} ${t.name}`);
    setText(this.summary, `${topics.filter((t) => t.name).length} topics`);
    const slow = format.reasons(b.slow);
    const notes = [
      b.pid ? `process ${b.pid}` : "no process",
      b.start === "external" ? "started by others" : "",
      b.lossless ? "lossless" : "",
      b.stalled ? "stalled: publishers do not wait for it" : "",
      slow && `slow: ${slow}`,
    ];
    setText(this.extra, notes.filter((n) => n).join("; "));
  }

  #controls() {
    const { clock } = this.app;
    const restart = clock.refusal("/simd/RestartBridge"),
      connect = clock.refusal("/simd/SetBridgeConnection");
    this.restart.disabled = restart !== "";
    setAttr(this.restart, "title", restart || `start its process again${this.#own ? "; this page connects again by itself" : ""}`);
    this.connect.disabled = connect !== "" || !this.edited;
    setAttr(
      this.connect,
      "title",
      connect ||
        `connect it to this place, by a new process, until simd ends${this.#own ? "; this page is there then, no longer here" : ""}`,
    );
    this.connection.readOnly = connect !== "";
    setAttr(this.connection, "title", connect || null);
  }

  // It serves this page, which loses its connection with it.
  get #own() {
    return this.name === this.app.bridge;
  }

  #edited() {
    this.edited = this.connection.value !== this.bridge.connection;
    this.#controls();
  }

  async #restart() {
    await this.app.act("/simd/RestartBridge", { name: this.name }, `restart the bridge ${this.name}`, this.#own);
  }

  async #connect(e) {
    e.preventDefault();
    if (this.connect.disabled) return;
    const connection = this.connection.value;
    const reply = await this.app.act(
      "/simd/SetBridgeConnection",
      { name: this.name, connection },
      `connect the bridge ${this.name} to "${connection}"`,
      this.#own,
    );
    if (reply) this.edited = false;
  }
}

class Bridges {
  params = {};
  #end = null;

  constructor(app) {
    this.app = app;
    this.empty = h("p", { class: "empty" }, "No bridges yet.");
    this.cards = h("div", { class: "cards", id: "bridges" });
    this.rows = new Keyed(this.cards, (b) => new Card(app, b.name));
    this.element = h("section", {}, this.empty, this.cards);
  }

  show() {
    this.#end ??= this.app.link.subscribe("/simd/bridges", (m) => {
      const { bridges } = JSON.parse(text.decode(m.data));
      const known = (Array.isArray(bridges) ? bridges : []).filter((b) => typeof b?.name === "string");
      this.rows.update(known, (b) => b.name);
      this.empty.hidden = known.length > 0;
    });
  }

  hide() {
    this.#end?.();
    this.#end = null;
  }
}

export const create = (app) => new Bridges(app);
