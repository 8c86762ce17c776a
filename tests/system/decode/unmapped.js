// SPDX-License-Identifier: Apache-2.0
// node unmapped.js MODULES FILE EXPECTED: an MCAP of ours, in the encoding native, has the messages that ../ros1/unmapped.py expects, and no
// others, in each topic's order: "the same", or how they differ. Types that have a header have simd's as `sim_header` beside it.
"use strict";
const fs = require("fs");
const path = require("path");
const { createRequire } = require("module");

const [modules, file, expected] = process.argv.slice(2);
const foreign = createRequire(path.resolve(modules, "index.js"));
const { McapIndexedReader } = foreign("@mcap/core");
const { loadDecompressHandlers } = foreign("@mcap/support");
const { FileHandleReadable } = foreign("@mcap/nodejs");
const { parse } = foreign("@foxglove/rosmsg");
const { MessageReader } = foreign("@foxglove/rosmsg2-serialization");
const { tree, compare } = require("./unmapped_compare.js");

(async () => {
  const handle = await fs.promises.open(file, "r");
  const r = await McapIndexedReader.Initialize({ readable: new FileHandleReadable(handle), decompressHandlers: await loadDecompressHandlers() });
  const want = JSON.parse(fs.readFileSync(expected)), readers = new Map(), got = {};
  for await (const m of r.readMessages({ validateCrcs: true })) {
    const { topic, schemaId } = r.channelsById.get(m.channelId), schema = r.schemasById.get(schemaId);
    if (!readers.has(topic)) readers.set(topic, new MessageReader(parse(Buffer.from(schema.data).toString(), { ros2: true })));
    const { header, sim_header, ...fields } = readers.get(topic).readMessage(m.data);
    (got[topic] ??= { type: schema.name.replace("/msg/", "/"), messages: [] }).messages.push(tree(sim_header ? { header, ...fields } : fields));
  }
  console.log(compare(want, got));
  await handle.close();
})();
