// SPDX-License-Identifier: Apache-2.0
// node mcap.js MODULES EMIT DIR SIMCTL: files of ours are read by @mcap/core, by their index and as a stream, with every checksum; files of
// @mcap/core's are read by ours. Both say the same of each. What `simctl bag` makes of theirs has all that was in them.
"use strict";
const fs = require("fs");
const path = require("path");
const { execFileSync } = require("child_process");
const { createRequire } = require("module");

const [modules, emit, dir, simctl] = process.argv.slice(2);
const foreign = createRequire(path.resolve(modules, "index.js"));
const { McapIndexedReader, McapStreamReader, McapWriter } = foreign("@mcap/core");
const { loadDecompressHandlers } = foreign("@mcap/support");
const { FileHandleReadable, FileHandleWritable } = foreign("@mcap/nodejs");
const zstd = foreign("@foxglove/wasm-zstd");

function fnv(bytes) {
  let h = 14695981039346656037n;
  for (const b of bytes) h = ((h ^ BigInt(b)) * 1099511628211n) & 0xffffffffffffffffn;
  return h.toString(16);
}
const line = (topic, m) => JSON.stringify(["message", topic, m.sequence, String(m.logTime), String(m.publishTime), m.data.length, fnv(m.data)]);
const ours = (file) => execFileSync(emit, ["read", file], { encoding: "utf8", maxBuffer: 1 << 26 }).trimEnd().split("\n");

async function byIndex(file, decompressHandlers) {
  const handle = await fs.promises.open(file, "r");
  const r = await McapIndexedReader.Initialize({ readable: new FileHandleReadable(handle), decompressHandlers });
  const lines = [];
  for await (const m of r.readMessages({ validateCrcs: true })) lines.push(line(r.channelsById.get(m.channelId).topic, m));
  const metadata = [];
  for await (const m of r.readMetadata()) metadata.push(m.name);
  const first = [...r.channelsById.values()].sort((a, b) => a.id - b.id)[0];
  lines.push(JSON.stringify(["info", r.header.profile, Number(r.statistics.messageCount), r.channelsById.size, r.attachmentIndexes.length,
                             metadata.length, 1, r.schemasById.get(first.schemaId)?.name ?? "", metadata[0] ?? ""]));
  for await (const a of r.readAttachments({ validateCrcs: true }))
    lines.push(JSON.stringify(["attachment", a.name, a.mediaType, String(a.logTime), String(a.createTime), Buffer.from(a.data).toString()]));
  await handle.close();
  return lines;
}

function asStream(file, decompressHandlers) {
  const r = new McapStreamReader({ validateCrcs: true, decompressHandlers });
  const topics = new Map(), lines = [];
  r.append(fs.readFileSync(file));
  for (let rec; (rec = r.nextRecord()); ) {
    if (rec.type === "Channel") topics.set(rec.id, rec.topic);
    if (rec.type === "Message") lines.push(line(topics.get(rec.channelId), rec));
  }
  return { lines, done: r.done() };
}

async function write(file, options) {
  const handle = await fs.promises.open(file, "w");
  const w = new McapWriter({ writable: new FileHandleWritable(handle), ...options });
  await w.start({ profile: "", library: "test" });
  const schemaId = await w.registerSchema({ name: "pkg/msg/A", encoding: "ros2msg", data: Buffer.from("uint8[] data") });
  const channels = [];
  for (const topic of ["/x", "/y"])
    channels.push(await w.registerChannel({ schemaId, topic, messageEncoding: "cdr", metadata: new Map([["k", "v"]]) }));
  for (let i = 0; i < 200; i++)
    await w.addMessage({ channelId: channels[i % 2], sequence: i, logTime: BigInt(1000 + i - (i % 5) * 3), publishTime: BigInt(i),
                         data: Buffer.alloc((i * 37) % 3000, i) });
  await w.addAttachment({ name: "n", mediaType: "text/plain", logTime: 1n, createTime: 2n, data: Buffer.from("hello") });
  await w.addMetadata({ name: "meta", metadata: new Map([["a", "b"]]) });
  await w.end();
  await handle.close();
}

// Messages, metadata with their pairs, and attachments with both times: what must be the same in a copy.
async function contents(file, decompressHandlers) {
  const handle = await fs.promises.open(file, "r");
  const r = await McapIndexedReader.Initialize({ readable: new FileHandleReadable(handle), decompressHandlers });
  const lines = [];
  for await (const m of r.readMessages({ validateCrcs: true })) lines.push(line(r.channelsById.get(m.channelId).topic, m));
  for await (const m of r.readMetadata()) lines.push(JSON.stringify(["metadata", m.name, ...m.metadata]));
  for await (const a of r.readAttachments({ validateCrcs: true }))
    lines.push(JSON.stringify(["attachment", a.name, a.mediaType, String(a.logTime), String(a.createTime), Buffer.from(a.data).toString()]));
  await handle.close();
  return lines;
}

// Of the messages in the order of the file.
const times = (file, handlers) => asStream(file, handlers).lines.map((l) => BigInt(JSON.parse(l)[3]));

function rising(what, list) {
  for (let i = 1; i < list.length; i++)
    if (list[i] < list[i - 1]) throw new Error(`${what}: ${list[i]} comes after ${list[i - 1]}`);
}

// In pieces, and together again: all that was there, once, in the order of its times from the first piece to the last.
async function takeApart(name, file, handlers) {
  const all = (await contents(file, handlers)).sort();
  execFileSync(simctl, ["bag", "split", file, path.join(dir, `split_${name}.mcap`), "--duration", "50ns"]);
  const pieces = fs.readdirSync(dir).filter((f) => f.startsWith(`split_${name}_`)).sort().map((f) => path.join(dir, f));
  if (pieces.length < 2) throw new Error(`${file}: ${pieces.length} pieces`);
  const lines = [];
  for (const piece of pieces) lines.push(...(await contents(piece, handlers)));
  same(`theirs, ${name}, by split`, lines.sort(), all);
  rising(`theirs, ${name}, by split`, pieces.flatMap((f) => times(f, handlers)));
  const merged = path.join(dir, `merge_${name}.mcap`);
  execFileSync(simctl, ["bag", "merge", merged, ...pieces.reverse()]);
  same(`theirs, ${name}, by merge`, (await contents(merged, handlers)).sort(), all);
  rising(`theirs, ${name}, by merge`, times(merged, handlers));
}

function same(what, a, b) {
  for (let i = 0; i < Math.max(a.length, b.length); i++)
    if (a[i] !== b[i]) throw new Error(`${what}: line ${i}: ${a[i]} and ${b[i]}`);
  console.log(`${what}: ${a.length} lines`);
}

(async () => {
  const handlers = await loadDecompressHandlers();
  await zstd.isLoaded;
  for (const c of ["none", "lz4", "zstd"]) {
    const file = path.join(dir, `ours_${c}.mcap`);
    execFileSync(emit, ["write", file, c]);
    same(`ours, ${c}, by index`, await byIndex(file, handlers), ours(file));
    const s = asStream(file, handlers);
    if (!s.done) throw new Error(`${file}: the stream does not end`);
    same(`ours, ${c}, as a stream`, s.lines.sort(), ours(file).filter((l) => l.startsWith('["message"')).sort());
  }
  const theirs = { plain: { chunkSize: 20000 }, unchunked: { useChunks: false }, zstd: { chunkSize: 20000, compressChunk: (data) => ({ compression: "zstd", compressedData: zstd.compress(data, 3) }) } };
  for (const [name, options] of Object.entries(theirs)) {
    const file = path.join(dir, `theirs_${name}.mcap`);
    await write(file, options);
    if (options.useChunks === false) {
      same(`theirs, ${name}`, asStream(file, handlers).lines.sort(), ours(file).filter((l) => l.startsWith('["message"')).sort());
      continue;
    }
    same(`theirs, ${name}`, await byIndex(file, handlers), ours(file));
    for (const command of ["recover", "filter", "convert"]) {
      const copy = path.join(dir, `${command}_${name}.mcap`);
      execFileSync(simctl, ["bag", command, file, copy]);
      same(`theirs, ${name}, by ${command}`, (await contents(copy, handlers)).sort(), (await contents(file, handlers)).sort());
    }
    await takeApart(name, file, handlers);
  }
})().catch((e) => {
  console.error(e);
  process.exit(1);
});
