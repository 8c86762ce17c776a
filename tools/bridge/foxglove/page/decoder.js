// SPDX-License-Identifier: Apache-2.0
// From a channel's bytes to objects: one decoder per channel, made when it is first asked for.

import { compile } from "./cdr.js";
import { parse, shortName } from "./ros2msg.js";

const text = new TextDecoder();
const made = new WeakMap(); // channel -> decoder

function make(channel) {
  if (channel.encoding === "json") return { schema: null, error: "", decode: (bytes) => JSON.parse(text.decode(bytes)) };
  try {
    if (channel.encoding !== "cdr" || channel.schemaEncoding !== "ros2msg")
      throw new Error(`encoding "${channel.encoding}" with definitions in "${channel.schemaEncoding}" cannot be decoded here`);
    const schema = parse(channel.schema, channel.schemaName);
    return { schema, error: "", decode: compile(schema) };
  } catch (e) {
    const error = e.message;
    const decode = () => {
      throw new Error(error);
    };
    return { schema: null, error, decode };
  }
}

// {schema: of ros2msg.js or null, error: why it cannot decode or "", decode(bytes)}
export function decoderOf(channel) {
  if (!made.has(channel)) made.set(channel, make(channel));
  return made.get(channel);
}

const LARGE = new Set(["sensor_msgs/PointCloud2", "sensor_msgs/Image", "sensor_msgs/CompressedImage", "nav_msgs/OccupancyGrid"]);

// Is a message of this channel too much for a page that nobody sees?
export const isLarge = (channel) => LARGE.has(shortName(channel.schemaName));
