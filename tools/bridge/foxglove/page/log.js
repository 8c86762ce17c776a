// SPDX-License-Identifier: Apache-2.0
// What has happened, for the log view: the server's status, the connection, the clock's jumps, the bridges' states. It
// listens from the start, whichever view is shown.

const ENTRIES_MAX = 2000;
const TRYING = "page:connecting";
const LEVELS = ["info", "warning", "error"];
const text = new TextDecoder();

export class Log {
  entries = []; // {n, at: Date, level, message, id, ended}
  version = 0;
  #count = 0;
  #link;
  #bridges = new Map(); // name -> status
  #generation = null;
  #before = "";
  #once = new Set();

  constructor(link) {
    this.#link = link;
    link.on("status", (s) => this.add(LEVELS[s.level] ?? "info", s.message, s.id));
    link.on("removeStatus", (ids) => this.#end(ids));
    link.on("state", () => this.#state());
    link.subscribe("/simd/bridges", (m) => this.#watchBridges(m), { background: true });
  }

  add(level, message, id) {
    // a status with the number of an earlier one replaces it
    const same = id === undefined ? undefined : this.entries.find((e) => e.id === id && !e.ended);
    if (same) this.entries.splice(this.entries.indexOf(same), 1);
    this.entries.unshift({ n: ++this.#count, at: new Date(), level, message, id, ended: false });
    if (this.entries.length > ENTRIES_MAX) this.entries.length = ENTRIES_MAX;
    this.version++;
  }

  // An error of each frame is said once.
  once(message) {
    if (this.#once.has(message) || this.#once.size > 100) return;
    this.#once.add(message);
    this.add("error", message);
  }

  // Status that has ended stays, marked.
  #end(ids) {
    for (const e of this.entries) if (e.id !== undefined && ids.includes(String(e.id))) e.ended = true;
    this.version++;
  }

  // The server's status that stands now.
  get standing() {
    return this.entries.filter((e) => e.id !== undefined && e.id !== TRYING && !e.ended && e.level !== "info");
  }

  #state() {
    const { state, why } = this.#link;
    if (state === "connecting") return;
    const before = this.#before;
    this.#before = state;
    if (state === "connected") {
      this.#bridges.clear();
      this.#end([TRYING]);
      this.add("info", why);
      return;
    }
    if (before === "connected") this.#end(this.entries.map((e) => String(e.id)));
    // of many attempts the last is enough
    this.add("error", why, before === "connected" ? undefined : TRYING);
  }

  #watchBridges(message) {
    for (const b of JSON.parse(text.decode(message.data)).bridges ?? []) {
      const before = this.#bridges.get(b.name);
      this.#bridges.set(b.name, b.status);
      if (before === b.status || (before === undefined && b.status === "connected")) continue;
      const level = b.status === "connected" ? "info" : b.status === "permanent" ? "error" : "warning";
      this.add(level, `bridge ${b.name} is ${b.status}${b.detail ? `: ${b.detail}` : ""}`);
    }
  }

  // From the clock bar, which has the clock anyway.
  clock(before, now) {
    if (this.#generation !== null && now.clock_generation !== this.#generation)
      this.add("warning", `simulated time has jumped from ${before.sim_ns / 1e9} s to ${now.sim_ns / 1e9} s`);
    this.#generation = now.clock_generation;
    if (before && before.source !== now.source) this.add("info", `the time source is ${now.source}, before it was ${before.source}`);
    if (before && !before.driver_lost && now.driver_lost) this.add("error", "the driver is lost: time stands until another comes");
  }
}
