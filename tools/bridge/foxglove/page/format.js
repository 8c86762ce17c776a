// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them. Values of the wire may be missing or of another type: they become "–".

const NONE = "–";
const isNumber = (v) => typeof v === "number" && Number.isFinite(v);

export function fixed(v, digits) {
  return isNumber(v) ? v.toFixed(digits).replace(/^-(?=[0.]*$)/, "") : NONE; // no minus before nothing
}

export function count(v) {
  return isNumber(v) ? Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f") : NONE;
}

export function hz(v) {
  if (!isNumber(v)) return NONE;
  return v === 0 ? "0" : v < 10 ? v.toFixed(2) : v < 100 ? v.toFixed(1) : v.toFixed(0);
}

export function megabytes(bytesPerS) {
  if (!isNumber(bytesPerS)) return NONE;
  const mb = bytesPerS / 1e6;
  return mb === 0 ? "0" : mb < 0.001 ? "<0.001" : mb < 10 ? mb.toFixed(3) : mb < 100 ? mb.toFixed(1) : mb.toFixed(0);
}

export function bytes(n) {
  if (!isNumber(n)) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (Math.abs(n) >= 1000 && at < units.length - 1) {
    n /= 1000;
    at++;
  }
  return `${at === 0 ? n : n.toFixed(n < 10 ? 2 : 1)} ${units[at]}`;
}

export function age(ms) {
  if (!isNumber(ms)) return NONE;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 100000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 7200000 ? `${Math.round(ms / 60000)} min` : `${Math.round(ms / 3600000)} h`;
}

// Simulated time in seconds, to the millisecond.
export function seconds(ns) {
  return isNumber(ns) ? (Math.floor(ns / 1e6) / 1000).toFixed(3) : NONE;
}

// The shortest text that shows a value of a plot or an image.
export function value(v) {
  if (typeof v !== "number") return String(v);
  if (Number.isInteger(v) && Math.abs(v) < 1e15) return String(v);
  const a = Math.abs(v);
  return a !== 0 && (a < 1e-4 || a >= 1e9) ? v.toExponential(4) : String(Number(v.toPrecision(7)));
}

export const sum = (object) =>
  object !== null && typeof object === "object" ? Object.values(object).reduce((s, v) => s + (isNumber(v) ? v : 0), 0) : 0;

// "timeout 3, token 1"
export function reasons(object) {
  if (object === null || typeof object !== "object") return "";
  return Object.entries(object).filter(([, n]) => n > 0).map(([why, n]) => `${why} ${n}`).join(", ");
}
