// SPDX-License-Identifier: Apache-2.0
// node client.mjs MODULES URL SUB-PROTOCOL: a client of a Foxglove server by @foxglove/ws-protocol, which shares no code with us, led by lines
// on its input (below) and telling in lines what comes. Messages are decoded with the definitions that the server gave.
import path from "node:path";
import readline from "node:readline";
import { createRequire } from "node:module";

const [modules, url, protocol] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, "node_modules/x.js"));
const { FoxgloveClient } = require("@foxglove/ws-protocol");
const { parse } = require("@foxglove/rosmsg");
const { MessageReader, MessageWriter } = require("@foxglove/rosmsg2-serialization");
const protobuf = require("protobufjs");
const { FileDescriptorSet } = require("protobufjs/ext/descriptor");
const WebSocket = require("ws");

const ws = new WebSocket(url, [protocol]);
const client = new FoxgloveClient({ ws });
const channels = new Map(), watched = new Map(), services = new Map(), out = new Map();
let wanted = new Set(), calls = 0;

const say = (...words) => console.log(words.join(" "));
const plain = (k, v) => typeof v === "bigint" ? Number(v) :
  ArrayBuffer.isView(v) ? (v.length > 8 ? `<${v.length}:${v.reduce((a, b) => (a + Number(b)) % 65521, 0)}>` : [...v]) : v;
const bytes = (text) => { const b = new TextEncoder().encode(text); return new DataView(b.buffer, b.byteOffset, b.byteLength); };

// Of protobuf also how many bytes it is when it is encoded again: a field that the definition does not have would be missing.
function protobufOf(ch) {
  const type = protobuf.Root.fromDescriptor(FileDescriptorSet.decode(Buffer.from(ch.schema, "base64"))).resolveAll().lookupType(ch.schemaName);
  return (at) => {
    const got = type.decode(at);
    return { bytes: [at.length, type.encode(got).finish().length], ...type.toObject(got, { enums: String, longs: Number, bytes: Array }) };
  };
}

function watch(ch) {
  const reader = ch.encoding === "cdr" ? new MessageReader(parse(ch.schema, { ros2: true })) : null;
  const read = ch.encoding === "protobuf" ? protobufOf(ch) : reader && ((at) => reader.readMessage(at));
  watched.set(client.subscribe(ch.id), { topic: ch.topic, read });
}

client.on("error", (e) => say("error", e.message));
client.on("close", (e) => { say("closed", e.code ?? ""); process.exit(0); });
client.on("serverInfo", (i) => say("info", JSON.stringify(i)));
client.on("status", (s) => say("status", s.level, s.message));
client.on("time", (t) => say("time", t.timestamp));
client.on("parameterValues", (p) => say("parameters", p.id ?? "-", JSON.stringify(p.parameters)));
client.on("connectionGraphUpdate", (g) => say("graph", JSON.stringify(g)));
client.on("advertise", (list) => {
  for (const ch of list) {
    channels.set(ch.topic, ch);
    say("channel", ch.topic, ch.schemaName, ch.encoding, ch.schemaEncoding);
    if (wanted.delete(ch.topic))
      watch(ch);
  }
});
client.on("unadvertise", (ids) => {
  for (const [topic, ch] of channels)
    if (ids.includes(ch.id)) {
      channels.delete(topic);
      say("gone", topic);
    }
});
client.on("advertiseServices", (list) => {
  for (const s of list) {
    services.set(s.name, s);
    say("service", s.name, s.type, s.request.schema);
  }
});
client.on("unadvertiseServices", (ids) => {
  for (const s of services.values())
    if (ids.includes(s.id))
      say("no-service", s.name);
});
client.on("message", (m) => {
  const w = watched.get(m.subscriptionId);
  const at = new Uint8Array(m.data.buffer, m.data.byteOffset, m.data.byteLength);
  const text = w.read ? JSON.stringify(w.read(at), plain) : new TextDecoder().decode(at);
  say("message", w.topic, m.timestamp, text);
});
const nameOf = (id) => [...services.values()].find((s) => s.id === id)?.name;
client.on("serviceCallResponse", (r) => say("answer", nameOf(r.serviceId), r.encoding, new TextDecoder().decode(r.data)));
client.on("serviceCallFailure", (r) => say("failed", nameOf(r.serviceId), r.message));
client.on("fetchAssetResponse", (r) => say("asset", r.requestId, r.status === 0 ? new TextDecoder().decode(r.data) : r.error));
client.on("open", () => say("open", ws.protocol));

const commands = {
  watch: (topic) => channels.has(topic) ? watch(channels.get(topic)) : wanted.add(topic),
  schema: (topic) => say("schema", topic, JSON.stringify(channels.get(topic).schema)),
  unwatch: (topic) => { for (const [id, w] of watched) if (w.topic === topic) client.unsubscribe(id); },
  // publish TOPIC TYPE ENCODING DEFINITION-as-JSON-string JSON
  publish: (topic, type, encoding, rest) => {
    const [definition, message] = JSON.parse(rest);
    if (!out.has(topic + type + encoding))
      out.set(topic + type + encoding, client.advertise({ topic, encoding, schemaName: type }));
    const data = encoding === "json" ? new TextEncoder().encode(JSON.stringify(message)) :
      new MessageWriter(parse(definition, { ros2: true })).writeMessage(message);
    client.sendMessage(out.get(topic + type + encoding), data);
  },
  call: (name, rest) => client.sendServiceCallRequest(
    { serviceId: services.get(name)?.id ?? 9999, callId: ++calls, encoding: "json", data: bytes(rest ?? "{}") }),
  get: (id, rest) => client.getParameters(JSON.parse(rest ?? "[]"), id),
  set: (id, rest) => client.setParameters(JSON.parse(rest), id),
  updates: () => client.subscribeParameterUpdates(["/clock/paused"]),
  graph: () => client.subscribeConnectionGraph(),
  asset: (id, uri) => client.fetchAsset(uri, Number(id)),
  stall: () => { ws._socket.pause(); say("stalled"); },
  resume: () => ws._socket.resume(),
  raw: (rest) => ws.send(rest),
  close: () => ws.close(),
};
// The last argument of a command is the rest of its line.
const parts = { watch: 1, schema: 1, unwatch: 1, publish: 4, call: 2, get: 2, set: 2, asset: 2, raw: 1 };
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const [name, ...words] = line.split(" "), n = parts[name] ?? 0;
  commands[name](...words.slice(0, n - 1), ...(n && words.length >= n ? [words.slice(n - 1).join(" ")] : []));
}).on("close", () => process.exit(0));
