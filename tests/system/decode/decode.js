// SPDX-License-Identifier: Apache-2.0
// node decode.js MODULES SCHEMAS <lines of emit: each message is decoded by a library that is not ours, with the
// definitions as they stand in schemas/ros, or come along, and compared field by field with what was said.
"use strict";
const fs = require("fs");
const path = require("path");
const { isDeepStrictEqual } = require("util");
const { createRequire } = require("module");

const [modules, schemas] = process.argv.slice(2);
const foreign = createRequire(path.resolve(modules, "index.js"));
const { parse } = foreign("@foxglove/rosmsg");
const { MessageReader } = foreign("@foxglove/rosmsg2-serialization");

const file = (type) => path.join(schemas, type.replace("/", "/msg/") + ".msg");
const read = (type) => fs.readFileSync(file(type), "utf8");
// the types that a definition names: all of them with their package
const nested = (text) => [...text.matchAll(/^([a-z]\w*\/[A-Z]\w*)/gm)].map((m) => m[1]);

// A definition with all that it stands on, as bags hold them.
function gather(type) {
  const texts = new Map([[type, read(type)]]);
  for (const text of texts.values())
    for (const t of nested(text)) if (!texts.has(t)) texts.set(t, read(t));
  const [root, ...rest] = [...texts];
  return [root[1], ...rest.map(([t, text]) => `${"=".repeat(80)}\nMSG: ${t}\n${text}`)].join("\n");
}

// Where two values differ, as a sentence; undefined: nowhere. A number of 32 bits was said with all its digits.
function differ(said, got, at) {
  if (typeof got === "bigint") got = Number(got);
  if (said === null) return Number.isNaN(got) ? undefined : `${at}: said NaN, decoded ${got}`;
  if (ArrayBuffer.isView(got)) got = Array.from(got, (v) => (typeof v === "bigint" ? Number(v) : v));
  if (typeof said !== "object" || typeof got !== "object")
    return said === got || Math.fround(said) === got ? undefined : `${at}: said ${said}, decoded ${got}`;
  const a = Object.keys(said), b = Object.keys(got);
  if (a.join() !== b.join()) return `${at}: said fields ${a}, decoded ${b}`;
  for (const k of a) {
    const d = differ(said[k], got[k], `${at}.${k}`);
    if (d) return d;
  }
}

// what a message of its own fields stands on
const times = ["Time", "Duration"].map((t) => `\n${"=".repeat(80)}\nMSG: builtin_interfaces/${t}\n${read(`builtin_interfaces/${t}`)}`).join("");

let n = 0, bad = 0;
for (const line of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const m = JSON.parse(line), bytes = Buffer.from(m.cdr, "hex");
  const ours = !m.older && fs.existsSync(file(m.type));
  const definition = parse(ours ? gather(m.type) : m.definition + (m.older ? "" : times), { ros2: true });
  const reader = new MessageReader(definition);
  const tell = (why) => (bad++, console.log(`${m.from} to ${m.type}: ${why}`));
  n++;
  try {
    const d = differ(m.said, reader.readMessage(bytes), m.type);
    const left = bytes.length - reader.lastReadByteLength();
    const fields = (all) => new Map(all.map((x) => [x.name ?? m.type, x.definitions]));
    if (d) tell(d);
    else if (left > 3 || bytes.subarray(bytes.length - left).some(Boolean)) tell(`${left} bytes are left over`);
    else if (bytes.length % 4) tell(`${bytes.length} bytes are not padded to 4`);
    else if (ours && !isDeepStrictEqual(fields(parse(m.definition, { ros2: true })), fields(definition)))
      tell("the definition in our table is not the one in the folder");
  } catch (e) {
    tell(e.message);
  }
}
console.log(`${n} messages decoded, ${bad} wrong`);
process.exit(bad || n < 30 ? 1 : 0);
