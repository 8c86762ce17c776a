// SPDX-License-Identifier: Apache-2.0
// Definitions of ROS 2 messages, as schemaEncoding "ros2msg" has them: the text of the message, then those that it
// nests, each after a line of 80 "=" and "MSG: pkg/Type". Comments are kept, because they hold units.

const TEXT_MAX = 4 << 20;
const FIELDS_MAX = 20000; // of all types of one text

// bytes of one element in CDR; a string has 4 at least, its length
export const PRIMITIVES = new Map([
  ["bool", 1], ["byte", 1], ["char", 1], ["int8", 1], ["uint8", 1], ["int16", 2], ["uint16", 2], ["int32", 4],
  ["uint32", 4], ["int64", 8], ["uint64", 8], ["float32", 4], ["float64", 8], ["string", 4], ["wstring", 4],
]);

const TIME = "int32 sec\nuint32 nanosec";
const BUILTIN = new Map([["builtin_interfaces/Time", TIME], ["builtin_interfaces/Duration", TIME]]);
const ALIASES = new Map([
  ["time", "builtin_interfaces/Time"], ["duration", "builtin_interfaces/Duration"], ["Header", "std_msgs/Header"],
]);

export class SchemaError extends Error {}

// "sensor_msgs/msg/Image" -> "sensor_msgs/Image"
export function shortName(name) {
  const parts = name.split("/");
  return parts.length < 2 ? name : `${parts[0]}/${parts[parts.length - 1]}`;
}

// {root, types: Map(name -> {name, fields, constants})}; every type that a field names is in it, none holds itself.
// field: {name, type, primitive, array, stringMax, default, comment, unit}; array: null or {kind, n} with kind "fixed",
// "bounded" or "any".
export function parse(text, name) {
  if (text.length > TEXT_MAX) throw new SchemaError(`the definition is longer than ${TEXT_MAX} characters`);
  const root = shortName(name);
  const sections = split(text, root);
  const types = new Map();
  let fields = 0;
  for (const [typeName, lines] of sections) {
    const type = parseType(typeName, lines);
    fields += type.fields.length + type.constants.length;
    if (fields > FIELDS_MAX) throw new SchemaError(`the definition has more than ${FIELDS_MAX} fields`);
    types.set(typeName, type);
  }
  resolve(types);
  measure(types, root);
  return { root, types };
}

// ---- sections ----

function split(text, root) {
  const sections = new Map();
  let lines = [];
  let expectName = false;
  sections.set(root, lines);
  for (const raw of text.split(/\r?\n/)) {
    const line = raw.trim();
    if (/^={80,}$/.test(line)) {
      expectName = true;
      continue;
    }
    if (expectName && line === "") continue;
    if (expectName) {
      if (!line.startsWith("MSG:")) throw new SchemaError(`"MSG: pkg/Type" is missing after a line of "="`);
      const name = shortName(line.slice(4).trim());
      lines = [];
      // the first of a name counts: a root that is repeated among its parts stays what it was
      if (!sections.has(name)) sections.set(name, lines);
      expectName = false;
      continue;
    }
    lines.push(line);
  }
  return sections;
}

// ---- lines ----

const FIELD = /^([A-Za-z][A-Za-z0-9_/]*)(?:<=(\d+))?(?:\[(<=)?(\d*)\])?[ \t]+([A-Za-z][A-Za-z0-9_]*)(.*)$/;

function parseType(name, lines) {
  const type = { name, fields: [], constants: [], minSize: 0 };
  let above = []; // comment lines directly over a field
  for (const line of lines) {
    if (line === "") {
      above = [];
      continue;
    }
    const [code, comment] = splitComment(line);
    if (code === "") {
      above.push(comment);
      continue;
    }
    addLine(type, code, comment || above.join(" "));
    above = [];
  }
  return type;
}

// A "#" in quotes is none: constants may be strings.
function splitComment(line) {
  let quote = "";
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (quote) {
      if (c === "\\") i++;
      else if (c === quote) quote = "";
    } else if ((c === '"' || c === "'") && /[=\s[,]/.test(line[i - 1] ?? " ")) {
      quote = c;
    } else if (c === "#") {
      return [line.slice(0, i).trim(), line.slice(i + 1).trim()];
    }
  }
  return [line.trim(), ""];
}

function addLine(type, code, comment) {
  const m = FIELD.exec(code);
  if (!m) throw new SchemaError(`${type.name}: "${code.slice(0, 80)}" is no field`);
  const [, base, stringMax, bounded, count, name, tail] = m;
  const rest = tail.trim();
  if (rest.startsWith("=")) {
    type.constants.push({ name, type: base, value: literal(base, rest.slice(1).trim()), comment });
    return;
  }
  if (rest !== "" && !/^\s/.test(tail)) throw new SchemaError(`${type.name}: "${code.slice(0, 80)}" is no field`);
  if (type.fields.some((f) => f.name === name)) throw new SchemaError(`${type.name}: two fields are named ${name}`);
  type.fields.push({
    name,
    type: base,
    primitive: false,
    array: code.includes("[") && count !== undefined ? arrayOf(bounded, count) : null,
    stringMax: stringMax === undefined ? 0 : Number(stringMax),
    default: rest === "" ? undefined : literal(base, rest),
    comment: comment.replace(/^\[-\]\s*/, ""),
    unit: unitOf(comment),
  });
}

function arrayOf(bounded, count) {
  if (count === "") {
    if (bounded) throw new SchemaError('"[<=]" has no bound');
    return { kind: "any", n: 0 };
  }
  const n = Number(count);
  if (n > 0xffffffff) throw new SchemaError(`an array of ${count} is too long`);
  return { kind: bounded ? "bounded" : "fixed", n };
}

// "[m/s] of the rear axle": the first word in brackets, unless it is "-"
function unitOf(comment) {
  const m = /^\[([^\][\s]{1,16})\]/.exec(comment) ?? /\[(m|rad|s|ns|Hz|px|deg|N|kg|B|%|m\/s|m\/s\^2|rad\/s)\]/.exec(comment);
  return m && m[1] !== "-" ? m[1] : "";
}

function literal(type, text) {
  if (text.startsWith("[")) return text;
  if (type === "string" || type === "wstring") {
    const m = /^(["'])(.*)\1$/.exec(text);
    return m ? m[2].replace(/\\(.)/g, "$1") : text;
  }
  if (type === "bool") return /^(true|1)$/i.test(text);
  const n = Number(text);
  return Number.isNaN(n) ? text : n;
}

// ---- names and sizes ----

// Every field's type becomes a primitive or a key of types.
function resolve(types) {
  for (const type of [...types.values()])
    for (const field of [...type.fields]) {
      field.primitive = PRIMITIVES.has(field.type);
      if (!field.primitive) field.type = find(types, field.type, type.name);
      if (field.stringMax && field.type !== "string" && field.type !== "wstring")
        throw new SchemaError(`${type.name}.${field.name}: only a string has a bound`);
    }
}

function find(types, name, within) {
  const candidates = [shortName(name), `${within.split("/")[0]}/${name}`, ALIASES.get(name)];
  const found = candidates.find((n) => n !== undefined && types.has(n));
  if (found !== undefined) return found;
  const builtin = candidates.find((n) => BUILTIN.has(n));
  if (builtin === undefined) throw new SchemaError(`${within}: the definition of ${name} is missing`);
  const type = parseType(builtin, BUILTIN.get(builtin).split("\n"));
  for (const field of type.fields) field.primitive = true;
  types.set(builtin, type);
  return builtin;
}

// Bytes that a message has at the least, without padding: what bounds a hostile count before anything is allocated.
function measure(types, root) {
  const open = new Set();
  const done = new Set();
  const visit = (name) => {
    const type = types.get(name);
    if (done.has(name)) return type.minSize;
    if (open.has(name)) throw new SchemaError(`${name} holds itself`);
    if (open.size > 64) throw new SchemaError("types are nested deeper than 64");
    open.add(name);
    let size = 0;
    for (const field of type.fields) {
      const one = field.primitive ? PRIMITIVES.get(field.type) : visit(field.type);
      size += !field.array ? one : field.array.kind === "fixed" ? one * field.array.n : 4;
    }
    open.delete(name);
    done.add(name);
    type.minSize = Math.max(size, 1); // an empty message is one byte in ROS 2
    return type.minSize;
  };
  visit(root);
}

// ---- paths, for completion ----

const NUMERIC = new Set(["bool", "byte", "char", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]);

// Paths of numbers as "pose.position.x" and "ranges[0]", with their units; at most max.
export function numericPaths(schema, max = 2000) {
  const out = [];
  const walk = (typeName, prefix) => {
    for (const field of schema.types.get(typeName).fields) {
      if (out.length >= max) return;
      const path = `${prefix}${field.name}${field.array ? "[0]" : ""}`;
      if (!field.primitive) walk(field.type, `${path}.`);
      else if (NUMERIC.has(field.type)) out.push({ path, unit: field.unit, comment: field.comment });
    }
  };
  walk(schema.root, "");
  return out;
}
