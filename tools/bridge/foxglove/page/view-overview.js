// SPDX-License-Identifier: Apache-2.0
// All channels with what flows through them, from /simd/channels; of a server without that, what it advertises.

import { Keyed, h, setAttr, setClass, setText } from "./dom.js";
import * as format from "./format.js";

const text = new TextDecoder();
const FEW = 3; // messages of a channel that is published once, such as /tf_static: its age says nothing

// [key, heading, class, title, value to sort by, text]
const COLUMNS = [
  ["name", "channel", "name", "", (c) => c.name, (c) => c.name],
  ["type", "type", "type wide", "", (c) => c.type, (c) => c.type],
  ["hz", "Hz", "num", "messages per second of wall time, over the last seconds", (c) => c.hz, (c) => format.hz(c.hz)],
  ["rate", "MB/s", "num", "bytes of bodies per second", (c) => c.bytes_per_s, (c) => format.megabytes(c.bytes_per_s)],
  ["age", "age", "num age", "since the last message", (c) => c.age_ms ?? Infinity, (c) => format.age(c.age_ms)],
  ["drops", "drops", "num drops", "lost to somebody", (c) => format.sum(c.drops), (c) => format.count(format.sum(c.drops))],
  [
    "flight",
    "in flight",
    "num wide",
    "on their way now, of as many as may be",
    (c) => c.in_flight,
    (c) => `${format.count(c.in_flight)}/${format.count(c.window)}`,
  ],
  ["messages", "messages", "num wider", "published", (c) => c.messages, (c) => format.count(c.messages)],
  ["pubs", "publishers", "wide", "", (c) => c.publishers?.length ?? 0, (c) => people(c.publishers)],
  ["subs", "subscribers", "wider", "", (c) => c.subscribers?.length ?? 0, (c) => people(c.subscribers)],
  ["bridges", "bridges", "wider", "bridges that carry it", (c) => c.bridges?.length ?? 0, (c) => (c.bridges ?? []).join(", ")],
];

function people(list) {
  return Array.isArray(list) ? list.map((p) => p.client).join(", ") : "–";
}

// Liveness: three periods are late, five seconds are dead; a pause excuses everything.
function liveness(c, paused) {
  if (typeof c.age_ms !== "number") return "";
  if (paused || c.messages <= FEW) return "dim";
  if (c.hz > 0 && c.age_ms < Math.max(3000 / c.hz, 500)) return "ok";
  return c.age_ms < 5000 ? "warn" : "bad";
}

class Overview {
  params = { sort: "", filter: "" };
  #app;
  #rows;
  #channels = [];
  #end = null;
  #offs = [];

  constructor(app) {
    this.#app = app;
    this.filter = h("input", {
      id: "overview-filter",
      type: "search",
      placeholder: "filter ( / )",
      "aria-label": "filter channels by name or type",
      oninput: () => this.#changed(),
    });
    this.total = h("span", { id: "overview-total", class: "dim", role: "status", "aria-live": "off" });
    this.body = h("tbody");
    this.heads = COLUMNS.map((column) => this.#head(column));
    this.empty = h("p", { class: "empty" });
    this.element = h(
      "section",
      {},
      h("div", { class: "bar" }, this.filter, this.total),
      h("div", { class: "scroll" }, h("table", { id: "channels" }, h("thead", {}, h("tr", {}, ...this.heads)), this.body), this.empty),
    );
    this.#rows = new Keyed(this.body, (c) => this.#row(c));
  }

  #head([key, label, cls, title]) {
    const button = h(
      "button",
      { type: "button", title: title || `sort by ${label}`, dataset: { sort: key }, onclick: () => this.#sort(key) },
      label,
    );
    return h("th", { class: cls, scope: "col", dataset: { column: key } }, button);
  }

  #row(channel) {
    const cells = COLUMNS.map(([key, , cls]) => h("td", { class: cls, dataset: { column: key } }));
    const link = h("a", { href: "#" });
    cells[0].append(link);
    const element = h("tr", { dataset: { channel: channel.name }, onclick: (e) => this.#open(e, element) }, ...cells);
    return { element, update: (c) => this.#fill(element, link, cells, c) };
  }

  #fill(element, link, cells, c) {
    const topic = topicOf(c, this.#app);
    const carried = this.#app.link.channels.has(topic);
    element.dataset.topic = topic;
    setAttr(link, "href", `#raw?topic=${encodeURIComponent(topic)}`);
    setText(link, c.name);
    setClass(element, carried ? "" : "not-carried");
    setAttr(element, "title", carried ? null : "this bridge does not carry the channel");
    for (let i = 1; i < COLUMNS.length; i++) setText(cells[i], COLUMNS[i][5](c));
    const live = liveness(c, this.#app.clock.now?.paused);
    element.dataset.live = live;
    setClass(cells[4], `${COLUMNS[4][2]} ${live}`);
    const drops = format.reasons(c.drops);
    setClass(cells[5], `${COLUMNS[5][2]} ${drops ? "bad" : ""}`);
    setAttr(cells[5], "title", drops || null);
    setAttr(cells[1], "title", this.#app.link.channels.get(topic)?.schemaName ?? null);
  }

  #open(e, row) {
    if (e.target.closest("a")) return;
    this.#app.goto("raw", { topic: row.dataset.topic });
  }

  // ---- order ----

  #sort(key) {
    const now = this.params.sort ?? "";
    // up, down, as they came into being
    this.params.sort = now === key ? `-${key}` : now === `-${key}` ? "" : key;
    this.#changed();
  }

  #changed() {
    this.params.filter = this.filter.value;
    this.#app.remember("overview", this.params);
    this.#render();
  }

  #sorted(channels) {
    const sort = this.params.sort ?? "";
    const down = sort.startsWith("-");
    const column = COLUMNS.find(([key]) => key === sort.replace("-", ""));
    if (!column) return channels;
    const of = (c) => column[4](c);
    const compare = (a, b) => (typeof of(a) === "string" ? String(of(a)).localeCompare(String(of(b))) : (of(a) ?? 0) - (of(b) ?? 0) || 0);
    return [...channels].sort((a, b) => (down ? compare(b, a) : compare(a, b)));
  }

  #render() {
    const needle = this.filter.value.toLowerCase();
    const shown = this.#channels.filter((c) => `${c.name} ${c.type}`.toLowerCase().includes(needle));
    this.#rows.update(this.#sorted(shown), (c) => c.name);
    this.heads.forEach((th, i) => {
      const sort = this.params.sort ?? "";
      const key = COLUMNS[i][0];
      setAttr(th, "aria-sort", sort === key ? "ascending" : sort === `-${key}` ? "descending" : null);
    });
    const rate = shown.reduce((s, c) => s + (c.bytes_per_s || 0), 0);
    const drops = shown.reduce((s, c) => s + format.sum(c.drops), 0);
    const lost = this.#app.link.state === "connected" ? "" : `${this.#app.link.why}: these are old. `;
    setText(
      this.total,
      `${lost}${shown.length} of ${this.#channels.length} channels, ${format.megabytes(rate)} MB/s, ${format.count(drops)} drops`,
    );
    setClass(this.total, drops ? "bad" : "dim");
    setText(this.empty, this.#channels.length ? (shown.length ? "" : "No channel matches the filter.") : this.#why());
  }

  #why() {
    return this.#app.link.state === "connected" ? "No channels yet." : this.#app.link.why;
  }

  // ---- what comes ----

  show(params) {
    this.params = { sort: params.sort ?? "", filter: params.filter ?? "" };
    this.filter.value = this.params.filter;
    this.#end ??= this.#app.link.subscribe("/simd/channels", (m) => {
      const { channels } = JSON.parse(text.decode(m.data));
      this.#channels = Array.isArray(channels) ? channels.filter((c) => typeof c?.name === "string") : [];
      this.#render();
    });
    if (this.#offs.length === 0)
      this.#offs = [this.#app.link.on("channels", () => this.#advertised()), this.#app.link.on("state", () => this.#render())];
    this.#advertised();
    this.#render();
  }

  #advertised() {
    const { channels, state } = this.#app.link;
    // what was there when the connection was lost stays to be read
    if (state !== "connected" || channels.has("/simd/channels")) return;
    this.#channels = [...channels.values()].map((c) => ({ name: c.topic, type: c.schemaName, topics: [] }));
    this.#render();
  }

  hide() {
    this.#end?.();
    for (const off of this.#offs) off();
    this.#end = null;
    this.#offs = [];
  }
}

// The name that a channel has on this connection: a rig may give it another one for the bridge.
export function topicOf(channel, app) {
  const topic = Array.isArray(channel.topics) ? channel.topics.find((t) => t?.bridge === app.bridge)?.name : "";
  return topic || channel.name;
}

export const create = (app) => new Overview(app);
