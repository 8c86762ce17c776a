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
const { MessageReader: Ros1Reader, MessageWriter: Ros1Writer } = foreign("@foxglove/rosmsg-serialization");
const CBOR = foreign("cbor-js");

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

// Both are said with nine digits at most: one number of 32 bits.
const same32 = (a, b) => typeof a === "number" && Number(a.toPrecision(9)) === a && Math.fround(a) === Math.fround(b);

// Where two values differ, as a sentence; undefined: nowhere. A number of 32 bits was said with all its digits.
// loose: names of fields are ROS 1's, and headers have a count there.
function differ(said, got, at, loose) {
  if (typeof got === "bigint") got = Number(got);
  if (said === null) return Number.isNaN(got) ? undefined : `${at}: said NaN, decoded ${got}`;
  if (ArrayBuffer.isView(got)) got = Array.from(got, (v) => (typeof v === "bigint" ? Number(v) : v));
  if (typeof said !== "object" || typeof got !== "object")
    return said === got || Math.fround(said) === got || same32(said, got) ? undefined : `${at}: said ${said}, decoded ${got}`;
  const a = Object.keys(said), b = Object.keys(got).filter((k) => !(loose && k === "seq"));
  if (loose ? a.length !== b.length : a.join() !== b.join()) return `${at}: said fields ${a}, decoded ${b}`;
  for (let i = 0; i < a.length; i++) {
    const d = differ(said[a[i]], got[b[i]], `${at}.${b[i]}`, loose);
    if (d) return d;
  }
}

// What JSON has no word for, as JavaScript reads what rosbridge_suite takes.
const fromJSON = (text) => JSON.parse(text.replace(/\bNaN\b/g, "null"));
// Typed arrays of RFC 8746, as roslib hands them to this decoder.
const typed = { 69: Uint16Array, 70: Uint32Array, 71: BigUint64Array, 72: Int8Array, 77: Int16Array, 78: Int32Array, 79: BigInt64Array,
                85: Float32Array, 86: Float64Array };
const fromCBOR = (bytes) =>
  CBOR.decode(bytes.buffer, (value, tag) => new typed[tag](value.buffer.slice(value.byteOffset, value.byteOffset + value.byteLength)));
// bytes that came in base64, where an array of numbers was said
function unpack(said, got) {
  if (Array.isArray(said) && typeof got === "string") return [...Buffer.from(got, "base64")];
  if (said === null || typeof said !== "object" || got === null || typeof got !== "object" || ArrayBuffer.isView(got)) return got === null ? NaN : got;
  for (const k of Object.keys(got)) got[k] = unpack(said[k], got[k]);
  return got;
}

// what a message of its own fields stands on
const times = ["Time", "Duration"].map((t) => `\n${"=".repeat(80)}\nMSG: builtin_interfaces/${t}\n${read(`builtin_interfaces/${t}`)}`).join("");

// Written again, it must be the same bytes.
function readRos1(m) {
  const definition = parse(m.ros1_definition), bytes = Buffer.from(m.ros1, "hex");
  const got = new Ros1Reader(definition).readMessage(bytes);
  if (!bytes.equals(new Ros1Writer(definition).writeMessage(got))) throw new Error("ROS 1: other bytes when written again");
  return got;
}

let n = 0, bad = 0, ros1 = 0;
for (const line of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const m = JSON.parse(line), bytes = Buffer.from(m.cdr, "hex");
  const ours = !m.older && fs.existsSync(file(m.type));
  const definition = parse(ours ? gather(m.type) : m.definition + (m.older ? "" : times), { ros2: true });
  const reader = new MessageReader(definition);
  const tell = (why) => (bad++, console.log(`${m.from} to ${m.type}: ${why}`));
  n++;
  try {
    const hex = (text) => new Uint8Array(Buffer.from(text, "hex"));
    const d = differ(m.said, reader.readMessage(bytes), m.type) ??
      differ(m.said, unpack(m.said, fromJSON(Buffer.from(m.json, "hex").toString())), m.type + " in JSON") ??
      differ(m.said, unpack(m.said, fromCBOR(hex(m.cbor))), m.type + " in CBOR") ??
      (m.ros1 && ++ros1 && differ(m.ros1_said ?? m.said, readRos1(m), m.type + " of ROS 1", true));
    const left = bytes.length - reader.lastReadByteLength();
    const ordered = (all) => [...all.filter((x) => x.isConstant), ...all.filter((x) => !x.isConstant)]; // our tables have constants first
    const fields = (all) => new Map(all.map((x) => [x.name ?? m.type, ordered(x.definitions)]));
    if (d) tell(d);
    else if (left > 3 || bytes.subarray(bytes.length - left).some(Boolean)) tell(`${left} bytes are left over`);
    else if (bytes.length % 4) tell(`${bytes.length} bytes are not padded to 4`);
    else if (ours && !isDeepStrictEqual(fields(parse(m.definition, { ros2: true })), fields(definition)))
      tell("the definition in our table is not the one in the folder");
  } catch (e) {
    tell(e.message);
  }
}
console.log(`${n} messages decoded, ${ros1} of them as ROS 1 has them too, ${bad} wrong`);
process.exit(bad || n < 30 || ros1 < 30 ? 1 : 0);
