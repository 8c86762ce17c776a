// SPDX-License-Identifier: Apache-2.0
// Where the values of a sensor_msgs/PointCloud2 are, checked against its bytes, so that the GPU can read the message as
// it came. What it cannot read (doubles, odd offsets, the other byte order, padded rows) is copied into floats first.

export const DATATYPES = { 1: ["int8", 1], 2: ["uint8", 1], 3: ["int16", 2], 4: ["uint16", 2], 5: ["int32", 4], 6: ["uint32", 4], 7: ["float32", 4], 8: ["float64", 8] };
const GETTERS = { int8: "getInt8", uint8: "getUint8", int16: "getInt16", uint16: "getUint16", int32: "getInt32", uint32: "getUint32", float32: "getFloat32", float64: "getFloat64" };
const STRIDE_MAX = 255; // of WebGL
const SAMPLES = 400;
const VALUE_NAMES = ["intensity", "intensities", "i", "reflectivity", "reflectance"];

// {count, stride, rowStep, width, little, data, fields: Map(name -> {name, offset, type, size, n})}; throws a sentence.
export function layout(cloud) {
  const { width, height, point_step: stride, row_step: rowStep, data } = cloud;
  if (stride === 0) throw new Error("point_step is 0");
  const count = width * height;
  if (count > 0 && (rowStep < width * stride || (height - 1) * rowStep + width * stride > data.length))
    throw new Error(`${width} × ${height} points of ${stride} bytes are more than the ${data.length} bytes of data`);
  const fields = new Map();
  for (const f of cloud.fields) {
    const [type, size] = DATATYPES[f.datatype] ?? [];
    if (!type || f.offset + size * Math.max(1, f.count) > stride) continue;
    if (!fields.has(f.name)) fields.set(f.name, { name: f.name, offset: f.offset, type, size, n: f.count });
  }
  for (const name of ["x", "y", "z"]) if (!fields.has(name)) throw new Error(`there is no field ${name}`);
  return { count, stride, rowStep, width, height, little: !cloud.is_bigendian, data, fields };
}

// The field that a way of colouring means; undefined: the cloud has none.
export function fieldFor(fields, mode) {
  if (mode === "intensity") return VALUE_NAMES.map((n) => fields.get(n)).find((f) => f);
  if (mode === "rgb") return fields.get("rgb") ?? fields.get("rgba");
  return fields.get(mode);
}

// Can WebGL read a field where it is?
function inPlace(c, f) {
  return f.type !== "float64" && f.offset % f.size === 0 && c.stride % f.size === 0;
}

// Can it read the cloud as it came?
export function readable(c, names) {
  return c.little && c.stride <= STRIDE_MAX && (c.height <= 1 || c.rowStep === c.width * c.stride) && names.every((f) => inPlace(c, f));
}

// Floats, one after the other of each point, of clouds that WebGL cannot read.
export function copy(c, fields) {
  const out = new Float32Array(c.count * fields.length);
  const view = new DataView(c.data.buffer, c.data.byteOffset, c.data.byteLength);
  const getters = fields.map((f) => GETTERS[f.type]);
  let to = 0;
  for (let row = 0; row < c.height; row++)
    for (let i = 0; i < c.width; i++) {
      const at = row * c.rowStep + i * c.stride;
      for (let k = 0; k < fields.length; k++) out[to++] = view[getters[k]](at + fields[k].offset, c.little);
    }
  return out;
}

// Lowest and highest of a few hundred points, evenly picked; null: none is a number. of(x, y, z, value): what is ranged.
export function sampleRange(c, field, of) {
  const view = new DataView(c.data.buffer, c.data.byteOffset, c.data.byteLength);
  const read = (f, at) => view[GETTERS[f.type]](at + f.offset, c.little);
  const [x, y, z] = ["x", "y", "z"].map((n) => c.fields.get(n));
  const values = [];
  const step = Math.max(1, Math.floor(c.count / SAMPLES));
  for (let i = 0; i < c.count; i += step) {
    const at = Math.floor(i / c.width) * c.rowStep + (i % c.width) * c.stride;
    const v = of(read(x, at), read(y, at), read(z, at), field ? read(field, at) : 0);
    if (Number.isFinite(v)) values.push(v);
  }
  if (values.length === 0) return null;
  values.sort((a, b) => a - b);
  // a few strays must not take the colours from the rest
  return [values[Math.floor(values.length * 0.01)], values[Math.min(values.length - 1, Math.ceil(values.length * 0.99))]];
}
