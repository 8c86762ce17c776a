// SPDX-License-Identifier: Apache-2.0
// CDR as ROS 2 writes it, read by closures that are made once per definition (the page's policy forbids eval). Arrays of
// numbers are typed arrays: views of the message where its alignment permits, else one copy. Nothing is allocated for a
// count before the bytes that it promises are there.

import { PRIMITIVES } from "./ros2msg.js";

const HOST_LITTLE = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
const utf8 = new TextDecoder();

export class CdrError extends Error {}

class Cursor {
  constructor(bytes) {
    if (bytes.length < 4) throw new CdrError(`${bytes.length} bytes are no CDR: its header alone has 4`);
    const kind = bytes[0] * 256 + bytes[1];
    if (kind !== 0 && kind !== 1 && kind !== 6 && kind !== 7) throw new CdrError(`representation ${kind} is not plain CDR`);
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.little = (kind & 1) === 1;
    this.align8 = kind < 2 ? 7 : 3; // XCDR2 aligns to 4 at most
    this.pos = 4; // offsets count from behind the header, which is 4 itself: alignment to 8 differs by these
  }

  align(mask) {
    this.pos += -(this.pos - 4) & mask;
  }

  need(n) {
    const left = this.bytes.length - this.pos;
    if (n > left) throw new CdrError(`the message ends at byte ${this.bytes.length}: ${n} more were due at ${this.pos}`);
  }

  // Move over n bytes at the next multiple of mask + 1; where they begin.
  take(n, mask) {
    this.align(mask);
    this.need(n);
    const at = this.pos;
    this.pos += n;
    return at;
  }
}

// ---- single values ----

const SCALARS = {
  bool: (c) => c.view.getUint8(c.take(1, 0)) !== 0,
  int8: (c) => c.view.getInt8(c.take(1, 0)),
  uint8: (c) => c.view.getUint8(c.take(1, 0)),
  int16: (c) => c.view.getInt16(c.take(2, 1), c.little),
  uint16: (c) => c.view.getUint16(c.take(2, 1), c.little),
  int32: (c) => c.view.getInt32(c.take(4, 3), c.little),
  uint32: (c) => c.view.getUint32(c.take(4, 3), c.little),
  int64: (c) => c.view.getBigInt64(c.take(8, c.align8), c.little),
  uint64: (c) => c.view.getBigUint64(c.take(8, c.align8), c.little),
  float32: (c) => c.view.getFloat32(c.take(4, 3), c.little),
  float64: (c) => c.view.getFloat64(c.take(8, c.align8), c.little),
  string: readString,
};
SCALARS.byte = SCALARS.uint8;
SCALARS.char = SCALARS.uint8;

function readString(c) {
  const n = SCALARS.uint32(c);
  c.need(n);
  const at = c.pos;
  c.pos += n;
  if (n <= 1) return n === 1 && c.bytes[at] !== 0 ? utf8.decode(c.bytes.subarray(at, at + 1)) : "";
  // with its NUL, which some writers leave out
  return utf8.decode(c.bytes.subarray(at, c.bytes[at + n - 1] === 0 ? at + n - 1 : at + n));
}

// ---- arrays of numbers ----

const ARRAYS = {
  bool: Uint8Array, byte: Uint8Array, char: Uint8Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array,
  uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array,
  float32: Float32Array, float64: Float64Array,
};

function swap(bytes, size) {
  for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse();
}

function readNumbers(c, n, Type) {
  const size = Type.BYTES_PER_ELEMENT;
  if (n === 0) return new Type(0);
  const at = c.take(n * size, size === 8 ? c.align8 : size - 1);
  const from = c.bytes.byteOffset + at;
  const native = size === 1 || c.little === HOST_LITTLE;
  if (native && from % size === 0) return new Type(c.bytes.buffer, from, n);
  const copy = c.bytes.slice(at, at + n * size);
  if (!native) swap(copy, size);
  return new Type(copy.buffer, 0, n);
}

// ---- compiling ----

function checkCount(c, n, minSize, bound) {
  if (bound && n > bound) throw new CdrError(`${n} elements where at most ${bound} are allowed`);
  if (n * minSize > c.bytes.length - c.pos)
    throw new CdrError(`${n} elements were announced at byte ${c.pos}, and the message ends at ${c.bytes.length}`);
}

function readList(c, n, one) {
  const out = [];
  for (let i = 0; i < n; i++) out.push(one(c));
  return out;
}

function compileElement(types, field, done) {
  if (!field.primitive) return { one: compileType(types, field.type, done), minSize: types.get(field.type).minSize };
  const one = SCALARS[field.type];
  if (!one) throw new CdrError(`${field.type} has no form that all implementations share`);
  return { one, minSize: PRIMITIVES.get(field.type) };
}

function compileField(types, field, done) {
  const { one, minSize } = compileElement(types, field, done);
  if (!field.array) return one;
  const Type = field.primitive ? ARRAYS[field.type] : undefined;
  const many = Type ? (c, n) => readNumbers(c, n, Type) : (c, n) => readList(c, n, one);
  const { kind, n: fixed } = field.array;
  if (kind === "fixed") {
    return (c) => {
      checkCount(c, fixed, minSize, 0);
      return many(c, fixed);
    };
  }
  return (c) => {
    const n = SCALARS.uint32(c);
    checkCount(c, n, minSize, fixed);
    return many(c, n);
  };
}

function compileType(types, name, done) {
  if (done.has(name)) return done.get(name);
  const { fields } = types.get(name);
  const names = fields.map((f) => f.name);
  const readers = fields.map((f) => compileField(types, f, done));
  const read = (c) => {
    const out = {};
    if (readers.length === 0) c.take(1, 0); // an empty message has one byte
    for (let i = 0; i < readers.length; i++) out[names[i]] = readers[i](c);
    return out;
  };
  done.set(name, read);
  return read;
}

// A function from the bytes of a message (Uint8Array, with the CDR header) to an object. It throws CdrError on bytes
// that are no such message; bytes behind it are ignored.
export function compile(schema) {
  const read = compileType(schema.types, schema.root, new Map());
  const { minSize, fields } = schema.types.get(schema.root);
  return (bytes) => {
    const c = new Cursor(bytes);
    if (fields.length === 0) return {}; // some writers leave the one byte out
    c.need(minSize);
    return read(c);
  };
}
