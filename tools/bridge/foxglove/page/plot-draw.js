// SPDX-License-Identifier: Apache-2.0
// Draws series over time on a 2-D canvas.

import * as format from "./format.js";

const AXIS_WIDTH = 5.2; // heights of the text
const AXIS_HEIGHT = 1.8;
const PAD = 8; // CSS pixels

// Round steps for about n lines.
export function ticks(low, high, n) {
  const raw = (high - low) / Math.max(1, n);
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw);
  const out = [];
  for (let k = Math.ceil(low / step); k * step <= high && out.length < 100; k++) out.push(k * step);
  return out;
}

// Lowest and highest value between two times, with some air; null: there is none.
function extent(series, from, to) {
  let low = Infinity, high = -Infinity;
  for (const { samples } of series)
    for (let i = Math.max(0, samples.find(from) - 1); i < samples.length && samples.time(i) <= to; i++) {
      const v = samples.value(i);
      if (v < low) low = v;
      if (v > high) high = v;
    }
  if (!(low <= high) || !Number.isFinite(high - low)) return null;
  const air = high > low ? (high - low) * 0.06 : Math.max(Math.abs(high) * 0.1, 0.5);
  return [low - air, high + air];
}

// Of many samples a column of pixels shows the lowest and the highest.
function drawLine(ctx, samples, x, y, from, to, columns) {
  const first = Math.max(0, samples.find(from) - 1);
  const last = Math.min(samples.length, samples.find(to) + 1);
  const group = Math.max(1, Math.floor((last - first) / (columns * 2)));
  let down = false;
  ctx.beginPath();
  for (let i = first; i < last; i += group) {
    let low = i, high = i;
    for (let k = i; k < Math.min(last, i + group); k++) {
      if (samples.value(k) < samples.value(low)) low = k;
      if (samples.value(k) > samples.value(high)) high = k;
    }
    for (const k of low === high ? [low] : [Math.min(low, high), Math.max(low, high)]) {
      const v = samples.value(k);
      if (!Number.isFinite(v)) down = false;
      else if (down) ctx.lineTo(x(samples.time(k)), y(v));
      else ctx.moveTo(x(samples.time(k)), y(v));
      if (Number.isFinite(v)) down = true;
    }
  }
  ctx.stroke();
}

function scale(low, high, from, to) {
  const k = (to - from) / (high - low);
  return (v) => from + (v - low) * k;
}

function drawAxis(ctx, range, y, { left, right, side, grid }, colours, n) {
  ctx.fillStyle = colours.dim;
  ctx.textAlign = side < left + 1 ? "right" : "left";
  ctx.textBaseline = "middle";
  for (const t of ticks(range[0], range[1], n)) {
    const at = Math.round(y(t)) + 0.5;
    if (grid) {
      ctx.strokeStyle = colours.line;
      ctx.beginPath();
      ctx.moveTo(left, at);
      ctx.lineTo(right, at);
      ctx.stroke();
    }
    ctx.fillText(format.value(Number(t.toPrecision(10))), side + (side < left + 1 ? -5 : 5), at);
  }
}

function drawTimes(ctx, view, x, top, bottom, colours, n) {
  ctx.textAlign = "center";
  ctx.textBaseline = "top";
  ctx.strokeStyle = colours.line;
  ctx.fillStyle = colours.dim;
  for (const t of ticks(view.from, view.to, n)) {
    const at = Math.round(x(t)) + 0.5;
    ctx.beginPath();
    ctx.moveTo(at, top);
    ctx.lineTo(at, bottom);
    ctx.stroke();
    ctx.fillText(`${Number(t.toPrecision(12))}`, at, bottom + 4);
  }
}

function drawCursor(ctx, view, left, right, top, bottom, colours) {
  const at = Math.round(left + view.cursor * (right - left)) + 0.5;
  ctx.strokeStyle = colours.fg;
  ctx.setLineDash([3, 3]);
  ctx.beginPath();
  ctx.moveTo(at, top);
  ctx.lineTo(at, bottom);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.fillStyle = colours.fg;
  ctx.textAlign = view.cursor > 0.8 ? "right" : "left";
  ctx.textBaseline = "top";
  ctx.fillText(`${(view.from + view.cursor * (view.to - view.from)).toFixed(3)} s`, at + (view.cursor > 0.8 ? -5 : 5), top + 2);
}

// view: {from, to, cursor}; colours: {fg, dim, line, size: of the text}; returns where the plot is, in CSS pixels: {left, right, from, to}.
export function drawPlot(canvas, series, view, colours) {
  const ctx = canvas.getContext("2d");
  const ratio = canvas.width / canvas.clientWidth;
  const [w, h] = [canvas.clientWidth, canvas.clientHeight];
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, w, h);
  ctx.font = `${colours.size}px system-ui, sans-serif`;
  ctx.lineWidth = 1;
  const sides = { L: series.filter((s) => s.axis === "L"), R: series.filter((s) => s.axis === "R") };
  const axis = AXIS_WIDTH * colours.size;
  const left = axis, right = w - (sides.R.length ? axis : PAD), top = PAD, bottom = h - AXIS_HEIGHT * colours.size;
  const x = scale(view.from, view.to, left, right);
  drawTimes(ctx, view, x, top, bottom, colours, w / 110);
  for (const side of ["L", "R"]) {
    const range = extent(sides[side], view.from, view.to);
    if (!range) continue;
    const y = scale(range[0], range[1], bottom, top);
    drawAxis(ctx, range, y, { left, right, side: side === "L" ? left : right, grid: side === "L" || !sides.L.length }, colours, h / 50);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, right - left, bottom - top);
    ctx.clip();
    ctx.lineWidth = 1.5;
    for (const s of sides[side]) {
      ctx.strokeStyle = s.colour;
      drawLine(ctx, s.samples, x, y, view.from, view.to, right - left);
    }
    ctx.restore();
  }
  if (view.cursor !== null) drawCursor(ctx, view, left, right, top, bottom, colours);
  return { left, right, from: view.from, to: view.to };
}
