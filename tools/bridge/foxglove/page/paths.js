// SPDX-License-Identifier: Apache-2.0
// Paths into decoded messages: "pose.position.x", "ranges[3]", "points.length". What they name becomes a number.

export function parsePath(path) {
  const steps = [];
  const pattern = /\.?([^.[\]]+)|\[(\d+)\]/y;
  while (pattern.lastIndex < path.length) {
    const m = pattern.exec(path);
    if (!m) return null;
    steps.push(m[1] !== undefined ? m[1] : Number(m[2]));
  }
  return steps.length ? steps : null;
}

const isList = (v) => Array.isArray(v) || ArrayBuffer.isView(v);

function step(value, key) {
  if (value === null || typeof value !== "object") return undefined;
  if (isList(value)) return typeof key === "number" ? value[key] : key === "length" ? value.length : undefined;
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

// A value as a number: times are seconds; NaN: it is none.
export function toNumber(v) {
  if (typeof v === "number") return v;
  if (typeof v === "bigint" || typeof v === "boolean") return Number(v);
  if (v !== null && typeof v === "object" && Object.hasOwn(v, "sec") && Object.hasOwn(v, "nanosec")) return Number(v.sec) + Number(v.nanosec) / 1e9;
  return NaN;
}

export const read = (message, steps) => toNumber(steps.reduce(step, message));

// Paths of all numbers in a message, for completion where there is no definition; at most max.
export function numbersIn(message, max = 500) {
  const out = [];
  const walk = (value, path, depth) => {
    if (out.length >= max || depth > 8) return;
    if (!Number.isNaN(toNumber(value))) out.push(path);
    else if (isList(value)) {
      out.push(`${path}.length`);
      if (value.length) walk(value[0], `${path}[0]`, depth + 1);
    } else if (value !== null && typeof value === "object")
      for (const [key, v] of Object.entries(value)) if (!/[.[\]]/.test(key)) walk(v, path ? `${path}.${key}` : key, depth + 1);
  };
  walk(message, "", 0);
  return out.filter((p) => p !== "" && p !== ".length");
}
