// SPDX-License-Identifier: Apache-2.0
// simd itself: its version and memory, who is connected, processes that were given up.

import { Keyed, h, setAttr, setClass, setText } from "./dom.js";
import * as format from "./format.js";

const text = new TextDecoder();
const FULL = 0.9; // of a pool: worth a colour

const FACTS = [
  ["version", (i) => i.version],
  ["run", (i) => i.simd_id],
  ["process", (i) => i.pid],
  ["up for", (i) => format.age(i.uptime_ms)],
  ["run-time files", (i) => i.runtime],
  ["rigs", (i) => (i.rigs ?? []).join(", ")],
  [
    "data plane",
    (i) =>
      `${i.backend}, generation ${i.iox_generation}${i.roudi_pid ? `, iox-roudi ${i.roudi_pid}` : ""}${i.roudi_robust === false ? ", locks not robust" : ""}`,
  ],
  ["/dev/shm", (i) => `${format.bytes(i.shm_free)} free of ${format.bytes(i.shm_total)}, ${format.bytes(i.shm_need)} needed`],
  ["memory of simd", (i) => format.bytes(i.memory)],
  ["sessions", (i) => i.clients],
  ["lost slots", (i) => i.reclaim_why || "none: they are found and freed"],
];

// A table whose rows are made from texts: [key, heading, class, text]
class Table {
  constructor(id, columns, keyOf) {
    this.columns = columns;
    this.keyOf = keyOf;
    this.body = h("tbody");
    this.rows = new Keyed(this.body, (item, key) => this.#row(key));
    this.element = h(
      "div",
      { class: "table-scroll" },
      h(
        "table",
        { id },
        h("thead", {}, h("tr", {}, ...columns.map(([label, cls]) => h("th", { class: cls, scope: "col" }, label)))),
        this.body,
      ),
    );
  }

  #row(key) {
    const cells = this.columns.map(([, cls]) => h("td", { class: cls }));
    const update = (item) =>
      this.columns.forEach(([, cls, of, kind], i) => {
        setText(cells[i], String(of(item) ?? "–"));
        setClass(cells[i], `${cls} ${kind?.(item) ?? ""}`);
      });
    return { element: h("tr", { dataset: { key } }, ...cells), update };
  }

  update(items) {
    this.rows.update(Array.isArray(items) ? items.filter((i) => i !== null && typeof i === "object") : [], (i) => String(this.keyOf(i)));
  }
}

class System {
  params = {};
  #ends = [];

  constructor(app) {
    this.app = app;
    this.facts = new Map(FACTS.map(([label]) => [label, h("dd")]));
    this.pools = new Table(
      "pools",
      [
        ["slot", "num", (p) => format.bytes(p.size)],
        ["slots", "num", (p) => format.count(p.count)],
        ["reserved", "num", (p) => format.count(p.reserved)],
        ["used", "num", (p) => format.count(p.used), (p) => (p.used >= FULL * p.count ? "bad" : "")],
      ],
      (p) => p.size,
    );
    this.clients = new Table(
      "clients",
      [
        ["session", "num", (c) => c.id],
        ["name", "", (c) => c.name],
        ["role", "", (c) => c.role],
        ["process", "num", (c) => c.pid],
        ["publishers", "num", (c) => c.publishers],
        ["subscribers", "num", (c) => c.subscribers],
        ["program", "dim", (c) => c.exe],
      ],
      (c) => c.id,
    );
    this.lost = h("div", { id: "given-up" });
    this.lostRows = new Keyed(this.lost, (p) => this.#lostRow(p));
    this.lostTitle = h("h2", { class: "bad" }, "Processes that are not started again");
    this.participants = new Table(
      "participants",
      [
        ["participant", "", (p) => p.client],
        ["rank", "num", (p) => p.rank],
        ["process", "num", (p) => p.pid],
        ["awaited", "", (p) => (p.late ? "late" : p.awaited ? "awaited" : ""), (p) => (p.late ? "bad" : "")],
        ["for", "num", (p) => (p.waited_ns ? format.age(p.waited_ns / 1e6) : "")],
      ],
      (p) => p.client_id,
    );
    this.stepTitle = h("h2", {}, "Lock-step");
    this.element = h(
      "section",
      {},
      h(
        "div",
        { class: "stack" },
        this.lostTitle,
        this.lost,
        h("h2", {}, "simd"),
        h("dl", { id: "info" }, ...FACTS.flatMap(([label]) => [h("dt", {}, label), this.facts.get(label)])),
        this.stepTitle,
        this.participants.element,
        h("h2", {}, "Sessions"),
        this.clients.element,
        h("h2", {}, "Pools of slots"),
        this.pools.element,
      ),
    );
  }

  #lostRow(process) {
    const why = h("span", { class: "dim" });
    const button = h(
      "button",
      {
        type: "button",
        onclick: () => this.app.act("/simd/RestartProcess", { name: process.name }, `restart the process ${process.name}`),
      },
      "restart",
    );
    const update = (p) => {
      setText(why, ` ${p.why}`);
      const refusal = this.app.clock.refusal("/simd/RestartProcess");
      button.disabled = refusal !== "";
      setAttr(button, "title", refusal || null);
    };
    return { element: h("p", { dataset: { process: process.name } }, button, ` ${process.name}`, why), update };
  }

  #info(info) {
    for (const [label, of] of FACTS) setText(this.facts.get(label), String(of(info) ?? "–"));
    this.pools.update(info.pools);
    const lost = Array.isArray(info.given_up) ? info.given_up.filter((p) => typeof p?.name === "string") : [];
    this.lostRows.update(lost, (p) => p.name);
    this.lostTitle.hidden = lost.length === 0;
  }

  show() {
    if (this.#ends.length) return;
    const read = (m) => JSON.parse(text.decode(m.data));
    this.lostTitle.hidden = this.lost.childElementCount === 0;
    this.#ends = [
      this.app.link.subscribe("/simd/info", (m) => this.#info(read(m))),
      this.app.link.subscribe("/simd/clients", (m) => this.clients.update(read(m).clients)),
    ];
  }

  hide() {
    for (const end of this.#ends) end();
    this.#ends = [];
  }

  frame() {
    const participants = this.app.clock.now?.participants ?? [];
    this.participants.update(participants);
    this.stepTitle.hidden = this.participants.element.hidden = participants.length === 0;
  }
}

export const create = (app) => new System(app);
