// SPDX-License-Identifier: Apache-2.0
// Definitions as texts, and the paths into what they describe.
"use strict";
const assert = require("assert");
const { names, gather } = require("./definitions.js");

module.exports = async ({ foreign, load, schemas, random }) => {
  const { parse: parseForeign } = foreign("@foxglove/rosmsg");
  const { parse, numericPaths, shortName, SchemaError } = await load("ros2msg.js");
  const { parsePath, read, numbersIn } = await load("paths.js");
  const line = "=".repeat(80);

  return {
    "fields and constants are those of a parser that is not ours"() {
      for (const type of names(schemas)) {
        const ours = parse(gather(schemas, type), type.replace("/", "/msg/"));
        const [theirs] = parseForeign(gather(schemas, type), { ros2: true });
        const root = ours.types.get(ours.root);
        const fields = theirs.definitions.filter((d) => !d.isConstant);
        assert.deepStrictEqual(root.fields.map((f) => f.name), fields.map((d) => d.name), type);
        assert.deepStrictEqual(root.fields.map((f) => f.array !== null), fields.map((d) => d.isArray === true), type);
        const constants = theirs.definitions.filter((d) => d.isConstant);
        const values = (list) => Object.fromEntries(list.map((c) => [c.name, typeof c.value === "bigint" ? Number(c.value) : c.value]));
        if (type !== "page_msgs/Every") assert.deepStrictEqual(values(root.constants), values(constants), type);
      }
    },

    "units, notes, bounds, defaults and constants are kept"() {
      const { types, root } = parse(gather(schemas, "page_msgs/Every"), "page_msgs/msg/Every");
      const field = (type, name) => types.get(type).fields.find((f) => f.name === name);
      assert.strictEqual(root, "page_msgs/Every");
      assert.strictEqual(field("page_msgs/Part", "x").unit, "m");
      assert.strictEqual(field("page_msgs/Part", "x").comment, "[m] forward");
      assert.strictEqual(field(root, "b").default, 7);
      assert.strictEqual(field(root, "k").default, "some # text");
      assert.strictEqual(field(root, "l").stringMax, 12);
      assert.deepStrictEqual(field(root, "few").array, { kind: "bounded", n: 3 });
      assert.deepStrictEqual(field(root, "three").array, { kind: "fixed", n: 3 });
      assert.deepStrictEqual(field(root, "many").array, { kind: "any", n: 0 });
      assert.deepStrictEqual([field(root, "pair").stringMax, field(root, "pair").array], [5, { kind: "fixed", n: 2 }]);
      assert.deepStrictEqual(types.get(root).constants.map((c) => [c.name, c.value]), [["LOW", 1], ["HIGH", 200], ["NAME", 'with # and "quotes"'], ["PI", 3.25]]);
    },

    "a note may stand above its field, but not above an empty line"() {
      const { types } = parse("# the file\n\n# of the axle\nfloat32 a\nfloat32 b  # [-] none\n", "p/msg/T");
      const [a, b] = types.get("p/T").fields;
      assert.deepStrictEqual([a.comment, b.comment, b.unit], ["of the axle", "none", ""]);
    },

    "names of nested types are found with package, without, and with msg between"() {
      const text = `Part a\np/msg/Part b\nHeader h\n${line}\nMSG: p/Part\nuint8 x\n${line}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n`;
      const { types } = parse(text, "p/msg/T");
      assert.deepStrictEqual(types.get("p/T").fields.map((f) => f.type), ["p/Part", "p/Part", "std_msgs/Header"]);
      assert(types.has("builtin_interfaces/Time"));
      assert.strictEqual(shortName("a/msg/B"), "a/B");
    },

    "invalid definitions are refused with a sentence"() {
      for (const text of ["what", "uint8 a\nuint8 a", "p/Missing x", "p/T x", `p/A x\n${line}\nMSG: p/A\np/B x\n${line}\nMSG: p/B\np/A x`, "uint8[<=] x", "uint8[99999999999] x", "uint8<=3 x", `uint8 a\n${line}\nuint8 b`, "uint8 x[3]", "<b>hi</b> x"])
        assert.throws(() => parse(text, "p/msg/T"), SchemaError, text);
    },

    "damaged definitions are parsed or refused, soon"() {
      const texts = names(schemas).map((t) => [t, gather(schemas, t)]);
      const started = process.hrtime.bigint();
      for (let i = 0; i < 3000; i++) {
        const [type, text] = random.pick(texts);
        const at = random.below(text.length);
        const damaged = text.slice(0, at) + random.pick(["", "=", "[", "<=", "\n", "#", '"', " ".repeat(2000), "\0", "/", "]"]) + text.slice(at + random.below(4));
        try {
          parse(damaged, type);
        } catch (e) {
          assert(e instanceof SchemaError, e.stack);
        }
      }
      assert(process.hrtime.bigint() - started < 30_000_000_000n, "it took longer than 30 s");
    },

    "paths of numbers are listed with units and end"() {
      const paths = numericPaths(parse(gather(schemas, "page_msgs/Every"), "page_msgs/msg/Every")).map((p) => p.path);
      for (const p of ["flag", "j", "stamp.sec", "two[0].x", "many[0].y", "doubles[0]"]) assert(paths.includes(p), p);
      assert(!paths.includes("k"));
      let text = "a/T1 x\na/T1 y\n";
      for (let i = 1; i < 30; i++) text += `${line}\nMSG: a/T${i}\na/T${i + 1} x\na/T${i + 1} y\n`;
      assert(numericPaths(parse(`${text}${line}\nMSG: a/T30\nuint8 x\n`, "a/msg/B")).length <= 2000);
    },

    "a path names a number, or nothing"() {
      const message = { a: { b: [{ c: 5 }, { c: 6 }] }, t: { sec: 2, nanosec: 500000000 }, n: new Float32Array([1, 2]), s: "x", f: true, g: 9n };
      const at = (p) => read(message, parsePath(p));
      assert.deepStrictEqual([at("a.b[1].c"), at("a.b.length"), at("t"), at("n[1]"), at("f"), at("g")], [6, 2, 2.5, 2, 1, 9]);
      for (const p of ["s", "a.x.y", "constructor.length", "__proto__", "a.b[9].c", "toString.length", "n.buffer.byteLength"]) assert(Number.isNaN(at(p)), p);
      for (const p of ["", "[", "a[", "a[-1]", "a]b", "a[x]"]) assert.strictEqual(parsePath(p), null, p);
      assert(numbersIn({ clock: { sim_ns: 5, x: [1] } }).includes("clock.sim_ns"));
    },
  };
};
