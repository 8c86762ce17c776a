// SPDX-License-Identifier: Apache-2.0
// What has happened, newest first.

import { Keyed, h, setText } from "./dom.js";

const SHOWN_MAX = 500;
const KINDS = { info: "dim", warning: "warn", error: "bad" };

const clockTime = (date) => `${date.toTimeString().slice(0, 8)}.${String(date.getMilliseconds()).padStart(3, "0")}`;

class LogView {
  params = { filter: "", level: "" };
  #version = -1;

  constructor(app) {
    this.app = app;
    this.filter = h("input", {
      id: "log-filter",
      type: "search",
      placeholder: "filter ( / )",
      "aria-label": "filter the log",
      oninput: () => this.#changed(),
    });
    this.level = h(
      "select",
      { id: "log-level", "aria-label": "lowest level", onchange: () => this.#changed() },
      ...[
        ["", "all"],
        ["warning", "warnings and errors"],
        ["error", "errors"],
      ].map(([v, l]) => h("option", { value: v }, l)),
    );
    this.total = h("span", { class: "dim" });
    this.body = h("tbody", { id: "log" });
    this.rows = new Keyed(this.body, (e) => this.#row(e));
    this.element = h(
      "section",
      {},
      h("div", { class: "bar" }, this.filter, this.level, this.total),
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          { class: "log" },
          h("thead", {}, h("tr", {}, ...["time", "level", "message"].map((t) => h("th", { scope: "col" }, t)))),
          this.body,
        ),
      ),
    );
  }

  #row(entry) {
    const element = h(
      "tr",
      { dataset: { level: entry.level } },
      h("td", { class: "num" }, clockTime(entry.at)),
      h("td", { class: KINDS[entry.level] }, entry.level),
      h("td", {}, entry.message),
    );
    return { element, update: (e) => element.classList.toggle("ended", e.ended) };
  }

  #changed() {
    this.params = { filter: this.filter.value, level: this.level.value };
    this.app.remember("log", this.params);
    this.#version = -1;
  }

  show(params) {
    this.params = params;
    this.filter.value = params.filter ?? "";
    this.level.value = params.level ?? "";
    this.#version = -1;
  }

  hide() {}

  frame() {
    const { log } = this.app;
    if (this.#version === log.version) return;
    this.#version = log.version;
    const needle = this.filter.value.toLowerCase();
    const levels = { "": ["info", "warning", "error"], warning: ["warning", "error"], error: ["error"] }[this.level.value];
    const shown = log.entries.filter((e) => levels.includes(e.level) && e.message.toLowerCase().includes(needle));
    this.rows.update(shown.slice(0, SHOWN_MAX), (e) => e.n);
    setText(this.total, `${shown.length} of ${log.entries.length}`);
  }
}

export const create = (app) => new LogView(app);
