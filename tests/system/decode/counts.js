// SPDX-License-Identifier: Apache-2.0
// node counts.js MODULES FILE: how many messages @mcap/core finds on each topic, by the index and as a stream, with every checksum.
"use strict";
const fs = require("fs");
const path = require("path");
const { createRequire } = require("module");

const [modules, file] = process.argv.slice(2);
const foreign = createRequire(path.resolve(modules, "index.js"));
const { McapIndexedReader, McapStreamReader } = foreign("@mcap/core");
const { loadDecompressHandlers } = foreign("@mcap/support");
const { FileHandleReadable } = foreign("@mcap/nodejs");

const sorted = (counts) => [...counts].sort().map(([topic, n]) => `${topic} ${n}`).join("\n");
const add = (counts, topic) => counts.set(topic, (counts.get(topic) ?? 0) + 1);

(async () => {
  const decompressHandlers = await loadDecompressHandlers();
  const handle = await fs.promises.open(file, "r");
  const r = await McapIndexedReader.Initialize({ readable: new FileHandleReadable(handle), decompressHandlers });
  const indexed = new Map();
  for await (const m of r.readMessages({ validateCrcs: true })) add(indexed, r.channelsById.get(m.channelId).topic);
  await handle.close();

  const stream = new McapStreamReader({ validateCrcs: true, decompressHandlers });
  const topics = new Map(), streamed = new Map();
  stream.append(fs.readFileSync(file));
  for (let rec; (rec = stream.nextRecord()); ) {
    if (rec.type === "Channel") topics.set(rec.id, rec.topic);
    if (rec.type === "Message") add(streamed, topics.get(rec.channelId));
  }
  if (!stream.done() || sorted(indexed) !== sorted(streamed)) throw new Error(`${file}: by index\n${sorted(indexed)}\nas a stream\n${sorted(streamed)}`);
  console.log(sorted(indexed));
})().catch((e) => {
  console.error(e);
  process.exit(1);
});
