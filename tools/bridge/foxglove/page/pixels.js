// SPDX-License-Identifier: Apache-2.0
// Pixels of sensor_msgs/Image as RGBA for a canvas. Pure functions of bytes.

import { MAPS } from "./colormap.js";

const SIDE_MAX = 16384;

// encoding -> [bytes of a pixel, kind, order of red, green, blue, alpha]
const ENCODINGS = new Map([
  ["rgb8", [3, "colour", [0, 1, 2, -1]]], ["bgr8", [3, "colour", [2, 1, 0, -1]]],
  ["rgba8", [4, "colour", [0, 1, 2, 3]]], ["bgra8", [4, "colour", [2, 1, 0, 3]]],
  ["8UC3", [3, "colour", [2, 1, 0, -1]]], ["8UC4", [4, "colour", [2, 1, 0, 3]]],
  ["mono8", [1, "u8"]], ["8UC1", [1, "u8"]], ["mono16", [2, "u16"]], ["16UC1", [2, "u16"]], ["16SC1", [2, "i16"]], ["32FC1", [4, "f32"]],
]);

function encodingOf(name) {
  if (/^bayer_[a-z]{4}8$/.test(name)) return [1, "u8"];
  if (/^bayer_[a-z]{4}16$/.test(name)) return [2, "u16"];
  const known = ENCODINGS.get(name);
  if (!known) throw new Error(`encoding "${name.slice(0, 40)}" cannot be shown here`);
  return known;
}

// {width, height, bpp, kind, order}; throws a sentence about an image that is not what it says.
export function describe(image) {
  const { width, height, step, data, encoding } = image;
  const [bpp, kind, order] = encodingOf(encoding);
  if (width < 1 || height < 1 || width > SIDE_MAX || height > SIDE_MAX) throw new Error(`${width} × ${height} pixels cannot be shown`);
  if (step < width * bpp) throw new Error(`rows of ${step} bytes are too short for ${width} pixels of ${bpp}`);
  if ((height - 1) * step + width * bpp > data.length) throw new Error(`${height} rows of ${step} bytes are more than the ${data.length} bytes of data`);
  return { width, height, bpp, kind, order };
}

const READERS = {
  u8: (view) => (at) => view.getUint8(at),
  u16: (view, little) => (at) => view.getUint16(at, little),
  i16: (view, little) => (at) => view.getInt16(at, little),
  f32: (view, little) => (at) => view.getFloat32(at, little),
};

// A function of column and row: numbers of that pixel.
export function pixelReader(image) {
  const d = describe(image);
  if (d.kind === "colour") return (x, y) => [...image.data.subarray(y * image.step + x * d.bpp, y * image.step + (x + 1) * d.bpp)];
  const read = READERS[d.kind](viewOf(image.data), !image.is_bigendian);
  return (x, y) => [read(y * image.step + x * d.bpp)];
}

const viewOf = (data) => new DataView(data.buffer, data.byteOffset, data.byteLength);

// Lowest and highest of some thousand pixels; a depth of 0 means that there was none.
export function sampleRange(image) {
  const d = describe(image);
  if (d.kind === "u8") return [0, 255];
  const read = pixelReader(image);
  let low = Infinity, high = -Infinity;
  const step = Math.max(1, Math.floor(Math.sqrt((d.width * d.height) / 4000)));
  for (let y = 0; y < d.height; y += step)
    for (let x = 0; x < d.width; x += step) {
      const [v] = read(x, y);
      if (!Number.isFinite(v) || v === 0) continue;
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
  return low <= high ? [low, high] : [0, 1];
}

function colours(image, d, out) {
  const { data, step } = image;
  const [r, g, b, a] = d.order;
  let to = 0;
  for (let y = 0; y < d.height; y++) {
    let at = y * step;
    for (let x = 0; x < d.width; x++, at += d.bpp, to += 4) {
      out[to] = data[at + r];
      out[to + 1] = data[at + g];
      out[to + 2] = data[at + b];
      out[to + 3] = a < 0 ? 255 : data[at + a];
    }
  }
}

// One number a pixel, through a table of colours: four bytes at once.
function numbers(image, d, map, [low, high], out) {
  const table = new Uint32Array(MAPS[map].buffer);
  const target = new Uint32Array(out.buffer, out.byteOffset, out.length / 4);
  const read = READERS[d.kind](viewOf(image.data), !image.is_bigendian);
  const scale = high > low ? 255 / (high - low) : 0;
  const none = new Uint32Array(new Uint8Array([0, 0, 0, 0]).buffer)[0];
  let to = 0;
  for (let y = 0; y < d.height; y++) {
    let at = y * image.step;
    for (let x = 0; x < d.width; x++, at += d.bpp) {
      const v = read(at);
      const i = (v - low) * scale;
      target[to++] = v !== v ? none : table[i <= 0 ? 0 : i >= 255 ? 255 : i | 0];
    }
  }
}

// Fill out (Uint8ClampedArray of 4 bytes a pixel); style: {map, range}
export function toRgba(image, style, out) {
  const d = describe(image);
  if (d.kind === "colour") colours(image, d, out);
  else numbers(image, d, style.map, style.range, out);
  return d;
}

export const isDepth = (encoding) => /^(16UC1|16SC1|32FC1)$/.test(encoding);
export const hasRange = (encoding) => isDepth(encoding) || /16$/.test(encoding);
