// SPDX-License-Identifier: Apache-2.0
// CDR in either byte order, written plainly: what the page's decoder has to read back.
"use strict";

const SIZES = { bool: 1, byte: 1, char: 1, int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, uint32: 4, int64: 8, uint64: 8, float32: 4, float64: 8 };
const SETTERS = {
  bool: "setUint8", byte: "setUint8", char: "setUint8", int8: "setInt8", uint8: "setUint8", int16: "setInt16", uint16: "setUint16", int32: "setInt32",
  uint32: "setUint32", int64: "setBigInt64", uint64: "setBigUint64", float32: "setFloat32", float64: "setFloat64",
};

function write(schema, message, { little = true, version = 1 } = {}) {
  const out = [0, (version === 2 ? 6 : 0) + (little ? 1 : 0), 0, 0];

  function number(type, v) {
    const size = SIZES[type];
    const align = version === 2 ? Math.min(size, 4) : size;
    while ((out.length - 4) % align) out.push(0);
    const view = new DataView(new ArrayBuffer(size));
    view[SETTERS[type]](0, typeof v === "boolean" ? Number(v) : v, little);
    for (let i = 0; i < size; i++) out.push(view.getUint8(i));
  }

  function one(field, v) {
    if (!field.primitive) return struct(field.type, v);
    if (field.type !== "string") return number(field.type, v);
    const bytes = Buffer.from(v, "utf8");
    number("uint32", bytes.length + 1);
    out.push(...bytes, 0);
  }

  function struct(name, value) {
    const { fields } = schema.types.get(name);
    if (fields.length === 0) out.push(0);
    for (const f of fields) {
      if (!f.array) {
        one(f, value[f.name]);
        continue;
      }
      if (f.array.kind !== "fixed") number("uint32", value[f.name].length);
      for (const v of value[f.name]) one(f, v);
    }
  }

  struct(schema.root, message);
  return Uint8Array.from(out);
}

module.exports = { write };
