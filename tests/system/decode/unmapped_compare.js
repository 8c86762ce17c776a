// SPDX-License-Identifier: Apache-2.0
// What ../ros1/unmapped.py expects against what a decoder of others has found. Both are { TOPIC: { type, messages } }.
"use strict";

// As unmapped.py has it: 64 bits as text, and a number that JSON does not have by its name.
function tree(v) {
  if (typeof v === "bigint") return String(v);
  if (typeof v === "number") return Object.is(v, -0) ? "-0" : Number.isFinite(v) ? v : String(v);
  if (ArrayBuffer.isView(v)) return Array.from(v, tree);
  if (Array.isArray(v)) return v.map(tree);
  return v !== null && typeof v === "object" ? Object.fromEntries(Object.entries(v).map(([k, x]) => [k, tree(x)])) : v;
}

function differ(want, got, at) {
  if (typeof want !== "object" || typeof got !== "object") return want === got ? undefined : `${at}: ${got}, not ${want}`;
  if (Object.keys(want).join() !== Object.keys(got).join()) return `${at}: ${Object.keys(got)}, not ${Object.keys(want)}`;
  for (const k of Object.keys(want)) {
    const d = differ(want[k], got[k], `${at}.${k}`);
    if (d) return d;
  }
}

// "the same", or how they differ, a line for each topic.
function compare(want, got) {
  const wrong = [], none = { type: "none", messages: [] };
  for (const topic of new Set([...Object.keys(want), ...Object.keys(got)])) {
    const w = want[topic] ?? none, g = got[topic] ?? none;
    const d = differ(w.type, g.type, topic) ?? differ(w.messages, g.messages, topic);
    if (d) wrong.push(d);
  }
  return wrong.join("\n") || "the same";
}

module.exports = { tree, compare };
