// SPDX-License-Identifier: Apache-2.0
// node bag.js MODULES FILE [TOPIC]: a line for each message of a bag, as @foxglove/rosbag reads it: "TOPIC TYPE SECONDS.NANOSECONDS: WHAT".
"use strict";
const path = require("path");
const { createRequire } = require("module");

const [modules, file, topic] = process.argv.slice(2);
const foreign = createRequire(path.resolve(modules, "index.js"));
const { Bag } = foreign("@foxglove/rosbag");
const { FileReader } = foreign("@foxglove/rosbag/node");

const time = (t) => `${t.sec}.${String(t.nsec).padStart(9, "0")}`;

function what(m) {
  if (typeof m.data === "string") return m.data;
  const h = m.header, sum = m.data.reduce((a, b) => a + b, 0);
  return `${h.seq} ${time(h.stamp)} ${h.frame_id}, ${m.width} x ${m.height} ${m.encoding}, ${m.data.length} bytes, sum ${sum}`;
}

(async () => {
  const bag = new Bag(new FileReader(file));
  await bag.open();
  const types = new Map([...bag.connections.values()].map((c) => [c.topic, c.type]));
  for await (const r of bag.messageIterator(topic ? { topics: [topic] } : {}))
    console.log(`${r.topic} ${types.get(r.topic)} ${time(r.timestamp)}: ${what(r.message)}`);
  process.exit(0);
})();
