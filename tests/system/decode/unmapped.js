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

(async () => {
  const handle = await fs.promises.open(file, "r");
  const r = await McapIndexedReader.Initialize({ readable: new FileHandleReadable(handle), decompressHandlers: await loadDecompressHandlers() });
  const want = JSON.parse(fs.readFileSync(expected)), readers = new Map(), got = {}, wrong = [];
  for await (const m of r.readMessages({ validateCrcs: true })) {
    const { topic, schemaId } = r.channelsById.get(m.channelId), schema = r.schemasById.get(schemaId);
    if (!readers.has(topic)) readers.set(topic, new MessageReader(parse(Buffer.from(schema.data).toString(), { ros2: true })));
    const { header, sim_header, ...fields } = readers.get(topic).readMessage(m.data);
    (got[topic] ??= { type: schema.name.replace("/msg/", "/"), messages: [] }).messages.push(tree(sim_header ? { header, ...fields } : fields));
  }
  for (const topic of new Set([...Object.keys(want), ...Object.keys(got)])) {
    const w = want[topic] ?? { type: "none", messages: [] }, g = got[topic] ?? { type: "none", messages: [] };
    const d = differ(w.type, g.type, topic) ?? differ(w.messages, g.messages, topic);
    if (d) wrong.push(d);
  }
  console.log(wrong.join("\n") || "the same");
  await handle.close();
})();
