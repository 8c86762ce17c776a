// SPDX-License-Identifier: Apache-2.0
// node unmapped_watch.js MODULES URL EXPECTED: a client of a Foxglove server by @foxglove/ws-protocol: "ready" when it has subscribed to each topic that
// ../ros1/unmapped.py expects; then, when each has sent as many messages as that, "the same", or how they differ. Types as the server names them.
"use strict";
const fs = require("fs");
const path = require("path");
const { createRequire } = require("module");
const { tree, compare } = require("./unmapped_compare.js");

const [modules, url, expected] = process.argv.slice(2);
const foreign = createRequire(path.resolve(modules, "index.js"));
const { FoxgloveClient } = foreign("@foxglove/ws-protocol");
const { parse } = foreign("@foxglove/rosmsg");
const { MessageReader } = foreign("@foxglove/rosmsg2-serialization");
const WebSocket = foreign("ws");

const client = new FoxgloveClient({ ws: new WebSocket(url, ["foxglove.sdk.v1"]) });
const want = JSON.parse(fs.readFileSync(expected)), got = {}, watched = new Map();
const wanted = Object.values(want).reduce((n, x) => n + x.messages.length, 0);
let n = 0;

process.on("uncaughtException", (e) => { console.log("error", e.message); process.exit(1); });
client.on("error", (e) => { console.log("error", e.message); process.exit(1); });
client.on("close", () => { console.log("closed"); process.exit(1); });
// MessageReader takes what has constants alone for no message.
function readerOf(schema) {
  const definitions = parse(schema, { ros2: true });
  const empty = definitions.every((d) => d.definitions.every((x) => x.isConstant));
  return empty ? { readMessage: () => ({}) } : new MessageReader(definitions);
}

client.on("advertise", (list) => {
  for (const ch of list.filter((x) => want[x.topic])) {
    got[ch.topic] = { type: ch.schemaName.replace("/msg/", "/"), messages: [] };
    watched.set(client.subscribe(ch.id), { topic: ch.topic, reader: readerOf(ch.schema) });
    if (watched.size === Object.keys(want).length) console.log("ready");
  }
});
client.on("message", (m) => {
  const { topic, reader } = watched.get(m.subscriptionId);
  got[topic].messages.push(tree(reader.readMessage(new Uint8Array(m.data.buffer, m.data.byteOffset, m.data.byteLength))));
  if (++n < wanted) return;
  console.log(compare(want, got));
  process.exit(0);
});
