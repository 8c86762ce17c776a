// SPDX-License-Identifier: Apache-2.0
// node counts.js MODULES FILE: how many messages @mcap/core finds on each topic, by the index and as a stream, with every checksum; each
// with the same log time, which only rise by the index. node counts.js MODULES FILE times: a line for each message in the order of the file: its topic,
// sequence and log time.
"use strict";
const fs = require("fs");
const path = require("path");
const { createRequire } = require("module");

const [modules, file, what] = process.argv.slice(2);
const foreign = createRequire(path.resolve(modules, "index.js"));
const { McapIndexedReader, McapStreamReader } = foreign("@mcap/core");
const { loadDecompressHandlers } = foreign("@mcap/support");
const { FileHandleReadable } = foreign("@mcap/nodejs");

const sorted = (counts) => [...counts].sort().map(([topic, n]) => `${topic} ${n}`).join("\n");
const add = (counts, topic) => counts.set(topic, (counts.get(topic) ?? 0) + 1);
const name = (topic, m) => `${topic} ${m.sequence} at ${m.logTime}`;

(async () => {
  const decompressHandlers = await loadDecompressHandlers();
  const handle = await fs.promises.open(file, "r");
  const r = await McapIndexedReader.Initialize({ readable: new FileHandleReadable(handle), decompressHandlers });
  const indexed = new Map(), there = new Set();
  let last = 0n;
  for await (const m of r.readMessages({ validateCrcs: true })) {
    const topic = r.channelsById.get(m.channelId).topic;
    if (m.logTime < last) throw new Error(`${file}: ${name(topic, m)} comes after ${last}`);
    last = m.logTime;
    there.add(name(topic, m));
    add(indexed, topic);
  }
  await handle.close();

  const stream = new McapStreamReader({ validateCrcs: true, decompressHandlers });
  const topics = new Map(), streamed = new Map(), lines = [];
  stream.append(fs.readFileSync(file));
  for (let rec; (rec = stream.nextRecord()); ) {
    if (rec.type === "Channel") topics.set(rec.id, rec.topic);
    if (rec.type !== "Message") continue;
    const topic = topics.get(rec.channelId);
    if (!there.has(name(topic, rec))) throw new Error(`${file}: not by the index: ${name(topic, rec)}`);
    lines.push(name(topic, rec));
    add(streamed, topic);
  }
  if (!stream.done() || sorted(indexed) !== sorted(streamed)) throw new Error(`${file}: by index\n${sorted(indexed)}\nas a stream\n${sorted(streamed)}`);
  console.log(what === "times" ? lines.join("\n") : sorted(indexed));
})().catch((e) => {
  console.error(e);
  process.exit(1);
});
