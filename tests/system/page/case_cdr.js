// SPDX-License-Identifier: Apache-2.0
// CDR: the page's decoder against one that is not ours, and against bytes that are no message.
"use strict";
const assert = require("assert");
const { isDeepStrictEqual } = require("util");
const { names, gather } = require("./definitions.js");
const { write } = require("./cdr_writer.js");

module.exports = async ({ foreign, load, schemas, random }) => {
  const { parse: parseForeign } = foreign("@foxglove/rosmsg");
  const { MessageReader, MessageWriter } = foreign("@foxglove/rosmsg2-serialization");
  const { parse } = await load("ros2msg.js");
  const { compile, CdrError } = await load("cdr.js");
  const types = names(schemas);
  // others with each seed, where it takes long
  const some = types.filter((type) => type.startsWith("page_msgs/") || random.below(types.length) < 120);

  // ---- values ----

  const LIMITS = { int8: 8, uint8: 8, byte: 8, char: 8, int16: 16, uint16: 16, int32: 32, uint32: 32, int64: 64, uint64: 64 };

  function scalar(field) {
    if (field.type === "bool") return random.below(2) === 1;
    if (field.type === "string") return random.pick(["", "a", "frame", "Größe", "日本", "x".repeat(300)]).slice(0, field.stringMax || 300);
    if (field.type === "float32") return Math.fround(random.pick([0, -1.5, 3.4e38, 1e-40, Infinity, random.next() / 1000]));
    if (field.type === "float64") return random.pick([0, -0.1, 1e300, 5e-324, random.next() / 7]);
    const bits = LIMITS[field.type];
    const signed = field.type.startsWith("int");
    if (bits === 64) return signed ? random.pick([0n, -(2n ** 63n), 12345678901n]) : random.pick([0n, 2n ** 64n - 1n]);
    return signed ? random.pick([0, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1]) : random.pick([0, 2 ** bits - 1, random.below(128)]);
  }

  function value(schema, field) {
    const one = () => (field.primitive ? scalar(field) : message(schema, field.type));
    if (!field.array) return one();
    const { kind, n } = field.array;
    const length = kind === "fixed" ? n : random.below(kind === "bounded" ? n + 1 : 5);
    return Array.from({ length }, one);
  }

  const message = (schema, name) => Object.fromEntries(schema.types.get(name).fields.map((f) => [f.name, value(schema, f)]));

  // ---- comparing ----

  // Both in one form: lists for typed arrays, numbers for booleans of arrays, "nanosec" for "nsec".
  function plain(v) {
    if (ArrayBuffer.isView(v)) return Array.from(v, plain);
    if (Array.isArray(v)) return v.map((x) => (typeof x === "boolean" ? Number(x) : plain(x)));
    if (v === null || typeof v !== "object") return v;
    return Object.fromEntries(Object.entries(v).map(([k, x]) => [k === "nsec" ? "nanosec" : k, plain(x)]));
  }

  function same(a, b, what) {
    if (!isDeepStrictEqual(plain(a), plain(b))) assert.deepStrictEqual(plain(a), plain(b), what);
  }

  const schemaOf = new Map(types.map((t) => [t, parse(gather(schemas, t), t.replace("/", "/msg/"))]));

  // elements of all lists in a message: what a count from the wire makes
  function elements(v) {
    if (ArrayBuffer.isView(v)) return v.length;
    if (v === null || typeof v !== "object") return 0;
    const inner = Object.values(v).reduce((n, x) => n + elements(x), 0);
    return inner + (Array.isArray(v) ? v.length : 0);
  }

  // A reader may refuse, with a sentence; it may not do anything else.
  function tolerant(read, bytes, what) {
    try {
      const n = elements(read(bytes));
      return n;
    } catch (e) {
      assert(e instanceof CdrError, `${what}: ${e.stack}`);
      assert(e.message.length > 10, `${what}: an error without a sentence`);
      return 0;
    }
  }

  return {
    "every definition decodes as a decoder that is not ours does"() {
      for (const type of types) {
        const schema = schemaOf.get(type);
        const definition = parseForeign(gather(schemas, type), { ros2: true });
        if (schema.types.get(schema.root).fields.length === 0 && definition[0].definitions.length > 0) continue; // it takes constants alone for a module of IDL
        const writer = new MessageWriter(definition), reader = new MessageReader(definition);
        const read = compile(schema);
        for (let i = 0; i < 5; i++) {
          const bytes = new Uint8Array(writer.writeMessage(message(schema, schema.root)));
          same(read(bytes), reader.readMessage(bytes), type);
        }
      }
    },

    "what was written comes back, in either byte order and at any address"() {
      for (const type of types) {
        const schema = schemaOf.get(type);
        const read = compile(schema);
        for (const little of [true, false]) {
          const said = message(schema, schema.root);
          const bytes = write(schema, said, { little });
          for (const shift of [0, 1, 13]) {
            const frame = new Uint8Array(bytes.length + shift);
            frame.set(bytes, shift);
            same(read(frame.subarray(shift)), said, `${type}, little ${little}, shift ${shift}`);
          }
        }
      }
    },

    "version 2 of the encoding aligns to 4"() {
      const schema = schemaOf.get("page_msgs/Every");
      const said = message(schema, schema.root);
      same(compile(schema)(write(schema, said, { little: true, version: 2 })), said, "XCDR2");
    },

    "bytes of a message are a view of it, floats too where their address permits"() {
      const schema = parse("uint8[] bytes\nfloat32[] floats", "a/msg/B");
      const bytes = write(schema, { bytes: [1, 2, 3, 4], floats: [1, 2] }, { little: true });
      const aligned = new Uint8Array(16 + bytes.length);
      aligned.set(bytes, 16);
      const read = compile(schema);
      const there = read(aligned.subarray(16));
      assert.strictEqual(there.bytes.buffer, aligned.buffer);
      assert.strictEqual(there.floats.buffer, aligned.buffer);
      const odd = new Uint8Array(17 + bytes.length);
      odd.set(bytes, 17);
      const here = read(odd.subarray(17));
      assert.strictEqual(here.bytes.buffer, odd.buffer);
      assert.deepStrictEqual([...here.floats], [1, 2]);
    },

    "a message that ends early is refused at every length"() {
      for (const type of some) {
        const schema = schemaOf.get(type);
        const bytes = write(schema, message(schema, schema.root), { little: true });
        const read = compile(schema);
        for (let n = 0; n < Math.min(bytes.length, 400); n++) tolerant(read, bytes.slice(0, n), `${type} cut at ${n}`);
        if (schema.types.get(schema.root).fields.length) assert.throws(() => read(bytes.slice(0, 4)), CdrError, type);
      }
    },

    "damaged bytes make no more elements than there are bytes"() {
      for (const type of some) {
        const schema = schemaOf.get(type);
        const read = compile(schema);
        for (let i = 0; i < 60; i++) {
          const bytes = write(schema, message(schema, schema.root), { little: true });
          for (let k = 0; k < 3; k++) bytes[4 + random.below(Math.max(1, bytes.length - 4))] = random.pick([0, 1, 0x7f, 0xff]);
          // fixed arrays are counted by the definition: those of the types here are small
          const n = tolerant(read, bytes, type);
          assert(n <= bytes.length + 100, `${type}: ${n} elements of ${bytes.length} bytes`);
        }
      }
    },

    "a count that promises more than there is allocates nothing"() {
      for (const text of ["uint8[] x", "float64[] x", "string[] x", "a/E[] x\n" + "=".repeat(80) + "\nMSG: a/E\n", "a/P[] x\n" + "=".repeat(80) + "\nMSG: a/P\nfloat64[36] c"]) {
        const read = compile(parse(text, "a/msg/B"));
        const bytes = new Uint8Array(64);
        bytes.set([0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        const before = process.memoryUsage().arrayBuffers;
        assert.throws(() => read(bytes), CdrError, text);
        assert(process.memoryUsage().arrayBuffers - before < 1 << 20, text);
      }
      const large = compile(parse("uint8[4000000000] x", "a/msg/B"));
      assert.throws(() => large(new Uint8Array(64)), CdrError);
      // 2^64 of them by nesting
      let text = "a/T1 x\na/T1 y\n";
      for (let i = 1; i < 60; i++) text += `${"=".repeat(80)}\nMSG: a/T${i}\na/T${i + 1} x\na/T${i + 1} y\n`;
      const deep = compile(parse(`${text}${"=".repeat(80)}\nMSG: a/T60\nuint8 x\n`, "a/msg/B"));
      assert.throws(() => deep(new Uint8Array(1000)), CdrError);
    },

    "headers that are no plain CDR, and bounds that are broken, are refused"() {
      const read = compile(parse("uint8[<=2] x", "a/msg/B"));
      assert.throws(() => read(new Uint8Array([0, 3, 0, 0, 1, 0, 0, 0, 5])), /representation/);
      assert.throws(() => read(new Uint8Array([0, 1, 0, 0, 3, 0, 0, 0, 5, 6, 7])), /at most 2/);
      assert.throws(() => read(new Uint8Array([0, 1])), /header/);
      assert.throws(() => compile(parse("wstring x", "a/msg/B")), /wstring/);
    },

    "names of members that objects have by themselves are only names"() {
      const read = compile(parse("uint8 constructor\nuint8 toString\nuint8 hasOwnProperty", "a/msg/B"));
      assert.deepStrictEqual({ ...read(new Uint8Array([0, 1, 0, 0, 1, 2, 3])) }, { constructor: 1, toString: 2, hasOwnProperty: 3 });
    },
  };
};
