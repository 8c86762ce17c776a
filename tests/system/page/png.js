// SPDX-License-Identifier: Apache-2.0
// The pixels of a PNG as browsers write them: eight bits a channel, RGB or RGBA, not interlaced.
"use strict";
const zlib = require("zlib");

function paeth(a, b, c) {
  const pa = Math.abs(b - c), pb = Math.abs(a - c), pc = Math.abs(a + b - 2 * c);
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

// { width, height, at(x, y): [r, g, b, a] }
function readPng(bytes) {
  const width = bytes.readUInt32BE(16), height = bytes.readUInt32BE(20);
  const [depth, color, , , interlaced] = bytes.subarray(24, 29);
  if (bytes.toString("latin1", 1, 4) !== "PNG" || depth !== 8 || ![2, 6].includes(color) || interlaced) throw new Error("not such a PNG");
  const parts = [];
  for (let i = 8; i < bytes.length; i += 12 + bytes.readUInt32BE(i))
    if (bytes.toString("latin1", i + 4, i + 8) === "IDAT") parts.push(bytes.subarray(i + 8, i + 8 + bytes.readUInt32BE(i)));
  const raw = zlib.inflateSync(Buffer.concat(parts)), n = color === 6 ? 4 : 3, row = width * n, data = Buffer.alloc(row * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (row + 1)];
    for (let x = 0; x < row; x++) {
      const at = y * row + x, left = x >= n ? data[at - n] : 0, up = y ? data[at - row] : 0, corner = x >= n && y ? data[at - row - n] : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      data[at] = raw[y * (row + 1) + 1 + x] + guess;
    }
  }
  const at = (x, y) => {
    const i = Math.round(y) * row + Math.round(x) * n;
    return [data[i], data[i + 1], data[i + 2], n === 4 ? data[i + 3] : 255];
  };
  return { width, height, at };
}

module.exports = { readPng };
