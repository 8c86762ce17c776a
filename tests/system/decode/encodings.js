// SPDX-License-Identifier: Apache-2.0
// node encodings.js MODULES BIN DIR: a native recording of all types, converted by simctl into each encoding and format; every message is
// decoded by a library that is not ours, by the definition in the file, and encoded again by it. What native says is what we say.
"use strict";
const fs = require("fs");
const path = require("path");
const { execFileSync } = require("child_process");
const { createRequire } = require("module");

const [modules, bin, dir] = process.argv.slice(2);
const foreign = createRequire(path.resolve(modules, "index.js"));
const { McapIndexedReader, McapWriter } = foreign("@mcap/core");
const { loadDecompressHandlers } = foreign("@mcap/support");
const { FileHandleReadable, FileHandleWritable } = foreign("@mcap/nodejs");
const { parse } = foreign("@foxglove/rosmsg");
const ros1 = foreign("@foxglove/rosmsg-serialization");
const ros2 = foreign("@foxglove/rosmsg2-serialization");
const { Bag } = foreign("@foxglove/rosbag");
const { FileReader } = foreign("@foxglove/rosbag/node");
const protobuf = foreign("protobufjs");
const { FileDescriptorSet } = foreign("protobufjs/ext/descriptor");

const simctl = (...args) => execFileSync(path.join(bin, "simctl"), ["bag", ...args], { encoding: "utf8", maxBuffer: 1 << 28 });
const fail = (text) => { throw new Error(text); };
const same = (a, b) => a.length === b.length && Buffer.compare(Buffer.from(a), Buffer.from(b)) === 0;

async function readMcap(file) {
  const handle = await fs.promises.open(file, "r");
  const r = await McapIndexedReader.Initialize({ readable: new FileHandleReadable(handle), decompressHandlers: await loadDecompressHandlers() });
  const all = [];
  for await (const m of r.readMessages({ validateCrcs: true })) {
    const channel = r.channelsById.get(m.channelId);
    all.push({ channel, schema: r.schemasById.get(channel.schemaId), data: m.data });
  }
  await handle.close();
  return { all, profile: r.header.profile };
}

// ---- ROS ----

// Where they differ, as a sentence. Times are ns with us, bytes are base64, NaN is null.
function differ(said, got, at) {
  if (got !== null && typeof got === "object" && "nanosec" in got && typeof said === "number")
    return Number(BigInt(got.sec) * 1000000000n + BigInt(got.nanosec)) === said ? undefined : `${at}: ${said}, ${got.sec}.${got.nanosec}`;
  if (typeof got === "bigint") got = Number(got);
  if (said === null) return Number.isNaN(got) ? undefined : `${at}: null, ${got}`;
  if (typeof said === "string" && typeof got !== "string") return same(Buffer.from(said, "base64"), got) ? undefined : `${at}: other bytes`;
  if (ArrayBuffer.isView(got)) got = Array.from(got, (v) => (typeof v === "bigint" ? Number(v) : v));
  if (typeof said !== "object") return said === got || Math.fround(said) === got ? undefined : `${at}: ${said}, ${got}`;
  if (Object.keys(said).length !== Object.keys(got).length) return `${at}: fields ${Object.keys(said)}, ${Object.keys(got)}`;
  for (const k of Object.keys(said)) {
    const d = differ(said[k], got[k], `${at}.${k}`);
    if (d) return d;
  }
}

function decodeRos(m, lib, isRos2) {
  const definition = parse(Buffer.from(m.schema.data).toString(), { ros2: isRos2 });
  if (definition[0].definitions.every((d) => d.isConstant)) return; // it takes a message without a field for none
  const got = new lib.MessageReader(definition).readMessage(m.data);
  const again = new lib.MessageWriter(definition).writeMessage(got);
  // padding behind the last field is nobody's
  if (!same(again, Buffer.from(m.data).subarray(0, again.length)) || m.data.length - again.length > (isRos2 ? 7 : 0))
    fail(`${m.channel.topic} (${m.schema.name}): encoded again it has other bytes`);
  return got;
}

function checkNative(all, file) {
  const said = simctl("cat", file).trimEnd().split("\n").map((l) => JSON.parse(l));
  all.forEach((m, i) => {
    const { header, sim_header, ...fields } = decodeRos(m, ros2, true), h = sim_header ?? header;
    const d = differ(said[i].message, sim_header ? { header, ...fields } : fields, m.channel.topic) ??
              differ(said[i].stamp_sim_ns, h.stamp, "stamp") ?? differ(said[i].frame_id, h.frame_id, "frame");
    if (d) fail(d);
  });
}

// ---- protobuf ----

function decodeProtobuf(m) {
  const root = protobuf.Root.fromDescriptor(FileDescriptorSet.decode(m.schema.data));
  const type = root.resolveAll().lookupType(m.schema.name);
  const got = type.decode(m.data);
  // the order of fields is the writer's; a field that the definition does not have would be missing
  if (type.encode(got).finish().length !== m.data.length) fail(`${m.channel.topic} (${m.schema.name}): encoded again it is not as long`);
  return got;
}

// A .record, read here: sections of a type, a length and a message.
const record = protobuf.parse(`syntax = "proto2";
  message Channel { optional string name = 1; optional string type = 2; optional bytes desc = 3; }
  message Single { optional string channel = 1; optional uint64 time = 2; optional bytes content = 3; }
  message Body { repeated Single messages = 1; }
  message Desc { optional bytes desc = 1; repeated Desc dependencies = 2; }`).root;

function readRecord(file) {
  const data = fs.readFileSync(file), channels = new Map(), all = [];
  for (let at = 2064; at < data.length; ) {
    const type = data.readInt32LE(at), size = Number(data.readBigInt64LE(at + 8)), bytes = data.subarray(at + 16, at + 16 + size);
    if (type === 4) {
      const c = record.lookupType("Channel").decode(bytes);
      channels.set(c.name, { name: c.type, data: setOf(record.lookupType("Desc").decode(c.desc)) });
    }
    if (type === 2)
      for (const m of record.lookupType("Body").decode(bytes).messages)
        all.push({ channel: { topic: m.channel }, schema: channels.get(m.channel), data: m.content });
    at += 16 + size;
  }
  return all;
}

function setOf(desc) {
  const files = new Map();
  const add = (d) => {
    d.dependencies.forEach(add);
    files.set(Buffer.from(d.desc).toString("latin1"), d.desc);
  };
  add(desc);
  const w = protobuf.Writer.create();
  for (const f of files.values()) w.uint32(10).bytes(f);
  return w.finish();
}

// ---- JSON ----

// Where a message is not what its JSON Schema says, as a sentence. Every property is there, in the order of the schema.
function unlike(schema, value, at) {
  const is = { number: (v) => v === null || typeof v === "number", integer: Number.isInteger, boolean: (v) => typeof v === "boolean",
               string: (v) => typeof v === "string", array: Array.isArray, object: (v) => v !== null && typeof v === "object" };
  if (!is[schema.type](value)) return `${at}: ${value} is no ${schema.type}`;
  if (schema.type === "array") {
    if (value.length < (schema.minItems ?? 0) || value.length > (schema.maxItems ?? Infinity)) return `${at}: ${value.length} elements`;
    return value.map((v, i) => unlike(schema.items, v, `${at}[${i}]`)).find((d) => d);
  }
  if (schema.type !== "object") return;
  const keys = Object.keys(schema.properties);
  if (Object.keys(value).join() !== keys.join()) return `${at}: ${Object.keys(value)}, not ${keys}`;
  return keys.map((k) => unlike(schema.properties[k], value[k], `${at}.${k}`)).find((d) => d);
}

// Times are ns in what simctl prints.
function plain(schema, value) {
  if (schema.type === "array") return value.map((v) => plain(schema.items, v));
  if (schema.type !== "object") return value;
  if (schema.title === "time" || schema.title === "duration") return Number(BigInt(value.sec) * 1000000000n + BigInt(value.nsec));
  return Object.fromEntries(Object.keys(schema.properties).map((k) => [k, plain(schema.properties[k], value[k])]));
}

function checkJson(all, file) {
  const said = simctl("cat", file).trimEnd().split("\n").map((l) => JSON.parse(l));
  all.forEach((m, i) => {
    if (m.channel.messageEncoding !== "json" || m.schema.encoding !== "jsonschema") fail(`${m.channel.topic}: ${m.channel.messageEncoding}`);
    const schema = JSON.parse(Buffer.from(m.schema.data)), value = JSON.parse(Buffer.from(m.data)), d = unlike(schema, value, m.channel.topic);
    if (d) fail(d);
    const { header, sim_header, ...fields } = plain(schema, value), h = sim_header ?? header;
    const one = JSON.stringify(sim_header ? { header, ...fields } : fields), other = JSON.stringify(said[i].message);
    if (one !== other || h.stamp !== said[i].stamp_sim_ns || h.frame_id !== said[i].frame_id) fail(`${m.channel.topic}: ${one}, ${other}`);
  });
}

// As Foxglove's schemas are in JSON: times, a choice of constants, bytes, objects in objects.
const number = { type: "number" };
const time = { type: "object", title: "time", properties: { sec: { type: "integer", minimum: 0 }, nsec: { type: "integer", minimum: 0, maximum: 999999999 } } };
const vector = { title: "foxglove.Vector3", type: "object", properties: { x: number, y: number, z: number } };
const foxglove = [
  [{ title: "foxglove.Log", type: "object",
     properties: { timestamp: time, level: { title: "foxglove.LogLevel", oneOf: [{ title: "UNKNOWN", const: 0 }, { title: "INFO", const: 2 }] },
                   message: { type: "string" }, line: { type: "integer", minimum: 0 } } },
   { timestamp: { sec: 5, nsec: 7 }, level: 2, message: "h\u00e9 \"there\"", line: 3 }, { level: 2, message: "h\u00e9 \"there\"", line: 3, timestamp: 5000000007 }],
  [{ title: "foxglove.CompressedImage", type: "object",
     properties: { timestamp: time, frame_id: { type: "string" }, data: { type: "string", contentEncoding: "base64" }, format: { type: "string" } } },
   { timestamp: { sec: 1, nsec: 2 }, frame_id: "cam", data: "AQIDBA==", format: "jpeg" },
   { timestamp: 1000000002, frame_id: "cam", data: "AQIDBA==", format: "jpeg" }],
  [{ title: "foxglove.LinePrimitive", type: "object",
     properties: { pose: { title: "foxglove.Pose", type: "object", properties: { position: vector } }, points: { type: "array", items: vector }, indices: { type: "array", items: { type: "integer" } },
                   extra: { anyOf: [number] } } },
   { pose: { position: { x: 1, y: 2, z: 3 } }, points: [{ x: 0.5, y: 0, z: -1e-9 }], indices: [1, -2], extra: 1 },
   { pose: { position: { x: 1, y: 2, z: 3 } }, points: [{ x: 0.5, y: 0, z: -1e-9 }], indices: [1, -2] }],
];

async function writeFoxglove(file) {
  const handle = await fs.promises.open(file, "w"), w = new McapWriter({ writable: new FileHandleWritable(handle) });
  await w.start({ profile: "", library: "test" });
  for (const [schema, message] of foxglove) {
    const schemaId = await w.registerSchema({ name: schema.title, encoding: "jsonschema", data: Buffer.from(JSON.stringify(schema)) });
    const channelId = await w.registerChannel({ schemaId, topic: `/${schema.title}`, messageEncoding: "json", metadata: new Map() });
    await w.addMessage({ channelId, sequence: 0, logTime: 9n, publishTime: 9n, data: Buffer.from(JSON.stringify(message)) });
  }
  await w.end();
  await handle.close();
}

const sorted = (v) => v !== null && typeof v === "object" && !Array.isArray(v) ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])])) : Array.isArray(v) ? v.map(sorted) : v;

function checkFoxglove(file) {
  const said = simctl("cat", file).trimEnd().split("\n").map((l) => JSON.parse(l));
  foxglove.forEach(([schema, , want], i) => {
    const one = JSON.stringify(sorted(said[i].message)), other = JSON.stringify(sorted(want));
    if (said[i].sim_type !== schema.title.replace(".", "/") || one !== other) fail(`${schema.title}: ${said[i].sim_type} ${one}, ${other}`);
  });
  if (said[1].stamp_sim_ns !== 1000000002 || said[1].frame_id !== "cam") fail(`${said[1].stamp_sim_ns} ${said[1].frame_id}`);
}

// ---- all ----

(async () => {
  const native = path.join(dir, "native.mcap");
  execFileSync(path.join(bin, "emit-native"), [native]);
  const { all } = await readMcap(native);
  checkNative(all, native);
  console.log(`native: ${all.length} messages`);
  const convert = (name, encoding, ...options) => {
    const to = path.join(dir, name);
    simctl("convert", native, to, ...(encoding ? ["--encoding", encoding] : []), ...options);
    return to;
  };
  const check = (what, messages, decode) => {
    if (messages.length !== all.length) fail(`${what}: ${messages.length} messages of ${all.length}`);
    messages.forEach(decode);
    console.log(`${what}: ${messages.length} messages`);
  };
  const two = await readMcap(convert("ros2.mcap", "ros2")), one = await readMcap(convert("ros1.mcap", "ros1"));
  check("ros2", two.all, (m) => decodeRos(m, ros2, true));
  check("ros1", one.all, (m) => decodeRos(m, ros1, false));
  if (two.profile !== "ros2" || one.profile !== "ros1") fail(`profiles ${two.profile}, ${one.profile}`);
  check("apollo", (await readMcap(convert("apollo.mcap", "apollo"))).all, decodeProtobuf);
  check(".record", readRecord(convert("a.record")), decodeProtobuf);
  const json = convert("json.mcap", "json");
  const texts = (await readMcap(json)).all;
  checkJson(texts, json);
  check("json", texts, () => {});
  simctl("convert", json, path.join(dir, "unjson.mcap"), "--encoding", "native");
  check("json and back", (await readMcap(path.join(dir, "unjson.mcap"))).all, (m, i) => same(m.data, all[i].data) || fail(`${m.channel.topic}: other bytes`));
  const theirs = path.join(dir, "foxglove.mcap");
  await writeFoxglove(theirs);
  checkFoxglove(theirs);
  console.log(`Foxglove's JSON: ${foxglove.length} schemas`);
  simctl("convert", convert("packed.mcap", "packed"), path.join(dir, "unpacked.mcap"));
  check("unpacked", (await readMcap(path.join(dir, "unpacked.mcap"))).all, (m, i) => same(m.data, all[i].data) || fail(`${i}: other bytes`));
  const bag = new Bag(new FileReader(convert("a.bag", "ros1", "--compression", "none"))), messages = [];
  await bag.open();
  for await (const m of bag.messageIterator({ })) messages.push(m.message);
  check(".bag", messages, (m) => typeof m === "object" || fail("no message"));
  process.exit(0);
})().catch((e) => {
  console.log(e.message);
  process.exit(1);
});
