// SPDX-License-Identifier: Apache-2.0
// Definitions as a server sends them, of all messages in schemas/ros and of some that have what these have not.
"use strict";
const fs = require("fs");
const path = require("path");

const OWN = {
  "page_msgs/Every": `# All kinds.
bool flag
byte raw
char letter
int8 a
uint8 b 7
int16 c
uint16 d
int32 e
uint32 f
int64 g
uint64 h
float32 i
float64 j
string k "some # text"
string<=12 l
builtin_interfaces/Time stamp
builtin_interfaces/Duration span
page_msgs/Part one
page_msgs/Part[2] two
page_msgs/Part[<=3] few
page_msgs/Part[] many
bool[] flags
uint8[] bytes
uint8 align
float64[] doubles
int64[<=4] longs
int16[3] three
string[] words
string<=5[2] pair
uint8 LOW=1
uint8 HIGH = 200
string NAME="with # and \\"quotes\\""
float32 PI=3.25
`,
  "page_msgs/Part": "uint8 x # [m] forward\nfloat64 y\npage_msgs/Nothing nothing\n",
  "page_msgs/Nothing": "# no members\n",
  "page_msgs/Wide": "uint8 a\nfloat32[] floats\nuint16[] shorts\nuint32[5] ints\n",
};

// Names that ROS 1 alone allows, of its packages: no definition of ROS 2.
const ROS1 = /^autoware_(can_)?msgs\//;
const isRos2 = (text) =>
  [...text.matchAll(/^[a-z]\S* +(\w+) *(=?)/gm)].every(([, name, constant]) => (constant ? /^[A-Z][A-Z0-9_]*$/ : /^[a-z][a-z0-9_]*$/).test(name));

function names(schemas) {
  const out = Object.keys(OWN);
  for (const pkg of fs.readdirSync(schemas)) {
    const dir = path.join(schemas, pkg, "msg");
    if (pkg !== "ros1" && fs.existsSync(dir))
      for (const file of fs.readdirSync(dir)) if (file.endsWith(".msg")) out.push(`${pkg}/${file.slice(0, -4)}`);
  }
  return out.filter((type) => !ROS1.test(type) || isRos2(gather(schemas, type)));
}

const text = (schemas, type) => OWN[type] ?? fs.readFileSync(path.join(schemas, type.replace("/", "/msg/") + ".msg"), "utf8");

// A definition with all that it stands on.
function gather(schemas, type) {
  const texts = new Map([[type, text(schemas, type)]]);
  for (const t of texts.values())
    for (const [, nested] of t.matchAll(/^([a-z]\w*\/[A-Z]\w*)/gm)) if (!texts.has(nested)) texts.set(nested, text(schemas, nested));
  const [root, ...rest] = [...texts];
  return [root[1], ...rest.map(([t, body]) => `${"=".repeat(80)}\nMSG: ${t}\n${body}`)].join("\n");
}

module.exports = { names, gather };
