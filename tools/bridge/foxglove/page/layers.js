// SPDX-License-Identifier: Apache-2.0
// What the 3-D view can show: a layer per channel. A layer keeps the newest message undecoded, decodes it when a frame
// is drawn, and says in one sentence why it shows nothing.

import { copy, fieldFor, layout, readable, sampleRange } from "./clouds.js";
import { SERIES } from "./colormap.js";
import { decoderOf } from "./decoder.js";
import { LINES, MODES, Mesh, PointBuffer } from "./gl.js";
import { fromPose, multiply, scaling, translation } from "./mat4.js";
import { Markers } from "./markers.js";
import { shortName } from "./ros2msg.js";
import { frameName } from "./tf.js";

// scene: {renderer, tree, fixed, simNs, style: {colour, size, range}, label(matrix, text)}
class Layer {
  why = "";
  info = "";
  due = Infinity; // simulated time at which it changes without a message
  frame = ""; // of the newest message
  #newest = null;

  constructor(topic) {
    this.topic = topic;
  }

  message(m) {
    this.#newest = m;
  }

  // A message of which only the newest counts; layers of which every one does override message().
  takeNewest() {
    const m = this.#newest;
    this.#newest = null;
    return m && decoderOf(m.channel).decode(m.data);
  }

  // Pose of a frame in the fixed one, or null with the reason set.
  place(scene, frame) {
    const matrix = scene.tree.lookup(scene.fixed, frame);
    this.why = matrix ? "" : `no transform from ${frame || '""'} to ${scene.fixed}`;
    return matrix;
  }

  prepare() {}
  draw() {}
  free() {}
}

// ---- sensor_msgs/PointCloud2 ----

const RGBA_BYTES = 4;
const RANGE_MS = 500; // automatic ranges follow slowly

class CloudLayer extends Layer {
  #buffer = null;
  #cloud = null;
  #mode = "";
  #field = null;
  #range = null;
  #ranged = 0;

  prepare(scene) {
    const message = this.takeNewest();
    if (message) {
      this.frame = frameName(message.header.frame_id);
      this.#cloud = layout(message);
    }
    if (!this.#cloud || (!message && this.#mode === scene.style.colour)) return;
    if (this.#mode !== scene.style.colour) this.#range = null;
    this.#mode = scene.style.colour;
    this.#field = fieldFor(this.#cloud.fields, this.#mode) ?? null;
    this.#upload(scene.renderer.gl);
    this.info = `${this.#cloud.count} points`;
  }

  #upload(gl) {
    const c = this.#cloud;
    this.#buffer ??= new PointBuffer(gl);
    const used = [..."xyz"].map((n) => c.fields.get(n));
    const value = this.#mode === "rgb" ? null : this.#field;
    const all = value ? [...used, value] : used;
    if (!readable(c, all)) {
      const attributes = all.map((_, i) => ({ location: i, size: 1, type: gl.FLOAT, normalized: false, offset: i * 4 }));
      return this.#buffer.upload(copy(c, all), all.length * 4, c.count, attributes);
    }
    const types = {
      int8: gl.BYTE,
      uint8: gl.UNSIGNED_BYTE,
      int16: gl.SHORT,
      uint16: gl.UNSIGNED_SHORT,
      int32: gl.INT,
      uint32: gl.UNSIGNED_INT,
      float32: gl.FLOAT,
    };
    const attributes = all.map((f, i) => ({ location: i, size: 1, type: types[f.type], normalized: false, offset: f.offset }));
    if (this.#mode === "rgb" && this.#field?.size === RGBA_BYTES)
      attributes.push({ location: 4, size: 4, type: gl.UNSIGNED_BYTE, normalized: true, offset: this.#field.offset });
    this.#buffer.upload(c.data, c.stride, c.count, attributes);
  }

  #mapping() {
    if (this.#mode === "rgb") return this.#field ? MODES.rgb : MODES.flat;
    if (this.#mode === "height") return MODES.height;
    if (this.#mode === "distance") return MODES.distance;
    return this.#field ? MODES.value : MODES.flat;
  }

  #autoRange(mode, up, now) {
    if (this.#range && now - this.#ranged < RANGE_MS) return this.#range;
    this.#ranged = now;
    const of =
      mode === MODES.height
        ? (x, y, z) => up[2] * x + up[6] * y + up[10] * z + up[14]
        : mode === MODES.distance
          ? (x, y, z) => Math.hypot(x, y, z)
          : (x, y, z, v) => v;
    const range = sampleRange(this.#cloud, mode === MODES.value ? this.#field : null, of);
    if (range) this.#range = this.#range ? this.#range.map((v, i) => v + (range[i] - v) * 0.3) : range;
    return this.#range ?? [0, 1];
  }

  draw(scene) {
    if (!this.#buffer || this.#buffer.count === 0) return;
    const matrix = this.place(scene, this.frame);
    if (!matrix) return;
    const mode = this.#mapping();
    const range = scene.style.range ?? (mode < MODES.rgb ? this.#autoRange(mode, matrix, scene.now) : [0, 1]);
    this.range = mode < MODES.rgb ? range : null;
    scene.renderer.drawPoints(this.#buffer, matrix, { mode, range, size: scene.style.size, flat: scene.style.flat });
  }

  free() {
    this.#buffer?.free();
    this.#buffer = null;
    this.#mode = ""; // uploaded again when it is shown again
  }
}

// ---- sensor_msgs/LaserScan ----

class ScanLayer extends Layer {
  #buffer = null;
  #values = null;

  prepare(scene) {
    const m = this.takeNewest();
    if (!m) return;
    this.frame = frameName(m.header.frame_id);
    const points = new Float32Array(m.ranges.length * 4);
    let n = 0;
    for (let i = 0; i < m.ranges.length; i++) {
      const r = m.ranges[i],
        a = m.angle_min + i * m.angle_increment;
      if (!(r >= m.range_min && r <= m.range_max)) continue;
      points.set([r * Math.cos(a), r * Math.sin(a), 0, m.intensities[i] ?? r], n++ * 4);
    }
    this.#values = points.subarray(0, n * 4);
    this.info = `${n} of ${m.ranges.length} rays`;
    const { gl } = scene.renderer;
    this.#buffer ??= new PointBuffer(gl);
    this.#buffer.upload(
      this.#values,
      16,
      n,
      [0, 1, 2, 3].map((i) => ({ location: i, size: 1, type: gl.FLOAT, normalized: false, offset: i * 4 })),
    );
    this.max = m.range_max;
  }

  draw(scene) {
    if (!this.#buffer || this.#buffer.count === 0) return;
    const matrix = this.place(scene, this.frame);
    if (matrix)
      scene.renderer.drawPoints(this.#buffer, matrix, {
        mode: MODES.distance,
        range: scene.style.range ?? [0, this.max],
        size: scene.style.size + 1,
        flat: scene.style.flat,
      });
  }

  free() {
    this.#buffer?.free();
    this.#buffer = null;
  }
}

// ---- objects: boxes with a label and a velocity ----

const KINDS = ["unknown", "car", "truck", "bus", "trailer", "motorcycle", "bicycle", "pedestrian", "animal"];
const hex = (c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16) / 255);
const BOX_COLOURS = SERIES.map(hex);

function colourOf(label) {
  const s = label.toLowerCase();
  const at = /pedestrian|person/.test(s) ? 3 : /bi(cy)?ke|cycle/.test(s) ? 4 : /truck|bus|trailer/.test(s) ? 1 : /car/.test(s) ? 0 : 7;
  return BOX_COLOURS[at];
}

// Each form of message: its objects as {pose, size, label, velocity}.
const OBJECTS = {
  "lgsvl_msgs/Detection3DArray": (m) =>
    m.detections.map((d) => ({ pose: d.bbox.position, size: d.bbox.size, label: `${d.label} ${d.id}`, velocity: d.velocity.linear.x })),
  "autoware_perception_msgs/DetectedObjects": (m) => m.objects.map(autowareObject),
  "autoware_perception_msgs/TrackedObjects": (m) => m.objects.map(autowareObject),
};

function autowareObject(o) {
  const best = [...o.classification].sort((a, b) => b.probability - a.probability)[0];
  const k = o.kinematics;
  return {
    pose: k.pose_with_covariance.pose,
    size: o.shape.dimensions,
    label: KINDS[best?.label ?? 0] ?? "object",
    velocity: k.twist_with_covariance.twist.linear.x,
  };
}

class ObjectsLayer extends Layer {
  #objects = [];
  #read;

  constructor(topic, read) {
    super(topic);
    this.#read = read;
  }

  prepare() {
    const m = this.takeNewest();
    if (!m) return;
    this.frame = frameName(m.header.frame_id);
    this.#objects = this.#read(m);
    this.info = `${this.#objects.length} objects`;
  }

  draw(scene) {
    if (this.#objects.length === 0) return;
    const matrix = this.place(scene, this.frame);
    if (!matrix) return;
    for (const o of this.#objects) this.#drawOne(scene, matrix, o);
  }

  #drawOne(scene, matrix, o) {
    const pose = multiply(matrix, fromPose(o.pose.position, o.pose.orientation));
    const colour = colourOf(o.label);
    const { x, y, z } = o.size;
    scene.renderer.addSolid("cube", multiply(pose, scaling(x, y, z)), [...colour, 0.55]);
    // the front, and one second of motion
    scene.renderer.addSolid("cube", multiply(pose, multiply(translation(x / 2, 0, 0), scaling(0.08, y, z))), [...colour, 1]);
    if (Math.abs(o.velocity) > 0.2)
      scene.renderer.addSolid(
        "cube",
        multiply(pose, multiply(translation((x + o.velocity) / 2, 0, -z / 2), scaling(Math.abs(o.velocity), 0.12, 0.12))),
        [...colour, 1],
      );
    scene.label(
      multiply(pose, translation(0, 0, z / 2 + 0.4)),
      Math.abs(o.velocity) > 0.2 ? `${o.label}, ${o.velocity.toFixed(1)} m/s` : o.label,
    );
  }
}

// ---- nav_msgs/Odometry, geometry_msgs/PoseStamped and the like: a pose as axes ----

const POSES = {
  "nav_msgs/Odometry": (m) => m.pose.pose,
  "geometry_msgs/PoseStamped": (m) => m.pose,
  "geometry_msgs/PoseWithCovarianceStamped": (m) => m.pose.pose,
};

class PoseLayer extends Layer {
  #pose = null;
  #read;

  constructor(topic, read) {
    super(topic);
    this.#read = read;
  }

  prepare() {
    const m = this.takeNewest();
    if (!m) return;
    this.frame = frameName(m.header.frame_id);
    this.#pose = this.#read(m);
  }

  draw(scene) {
    const matrix = this.#pose && this.place(scene, this.frame);
    if (!matrix) return;
    const pose = multiply(matrix, fromPose(this.#pose.position, this.#pose.orientation));
    drawAxes(scene, pose, 2);
    scene.label(pose, this.topic);
  }
}

// ---- visualization_msgs/MarkerArray and Marker ----

class MarkerLayer extends Layer {
  #markers = new Markers();
  #waiting = [];

  message(m) {
    // each one counts: it may delete
    if (this.#waiting.push(m) > 100) this.#waiting.shift();
  }

  prepare(scene) {
    for (const m of this.#waiting.splice(0)) {
      const decoded = decoderOf(m.channel).decode(m.data);
      for (const marker of decoded.markers ?? [decoded]) this.#markers.apply(marker, scene.simNs);
    }
    this.due = this.#markers.expire(scene.simNs);
    this.info = `${this.#markers.size} markers`;
  }

  draw(scene) {
    this.why = "";
    this.#markers.draw(scene, (frame) => this.place(scene, frame));
  }

  jumped() {
    this.#markers.clear();
  }

  free() {
    this.#markers.clear();
  }
}

// ---- what belongs to no channel ----

export function drawAxes(scene, pose, length) {
  const w = length * 0.03;
  [
    [0.9, 0.25, 0.25],
    [0.2, 0.75, 0.3],
    [0.3, 0.5, 1],
  ].forEach((colour, axis) => {
    const half = [0, 0, 0],
      size = [w, w, w];
    half[axis] = length / 2;
    size[axis] = length;
    scene.renderer.addSolid("cube", multiply(pose, multiply(translation(...half), scaling(...size))), [...colour, 1]);
  });
}

// The vehicle: base_link is the middle of the rear axle, on the road.
const EGO = { rear: -1.0, front: 3.7, width: 1.85, height: 1.5 };

export function drawEgo(scene, pose) {
  const { rear, front, width, height } = EGO;
  const body = multiply(translation((rear + front) / 2, 0, height / 2), scaling(front - rear, width, height));
  scene.renderer.addSolid("cube", multiply(pose, body), [0.2, 0.55, 0.95, 0.5]);
  const nose = multiply(translation(front, 0, height * 0.3), scaling(0.1, width, height * 0.6));
  scene.renderer.addSolid("cube", multiply(pose, nose), [0.2, 0.55, 0.95, 1]);
}

export class Grid {
  constructor(gl) {
    this.mesh = new Mesh(gl, LINES);
    this.colour = "";
  }

  // Lines each step metres around the place that the camera looks at, at a height.
  draw(renderer, centre, z, colour, step = 10) {
    const key = colour.join();
    if (key !== this.colour) {
      const points = [];
      const half = 30 * step;
      // in pieces: a line that passes behind the camera is lost with some drivers
      for (let at = -half; at <= half; at += step)
        for (let k = -half; k < half; k += step) points.push(k, at, 0, k + step, at, 0, at, k, 0, at, k + step, 0);
      this.mesh.set(points, colour);
      this.colour = key;
    }
    const snap = (v) => Math.round(v / step) * step;
    renderer.drawFlat(this.mesh, translation(snap(centre[0]), snap(centre[1]), z));
  }
}

// A layer for a channel; null: the 3-D view cannot show it.
export function layerFor(channel) {
  const type = shortName(channel.schemaName);
  if (type === "sensor_msgs/PointCloud2") return new CloudLayer(channel.topic);
  if (type === "sensor_msgs/LaserScan") return new ScanLayer(channel.topic);
  if (type === "visualization_msgs/MarkerArray" || type === "visualization_msgs/Marker") return new MarkerLayer(channel.topic);
  if (Object.hasOwn(OBJECTS, type)) return new ObjectsLayer(channel.topic, OBJECTS[type]);
  if (Object.hasOwn(POSES, type)) return new PoseLayer(channel.topic, POSES[type]);
  return null;
}

// NAME/markers of a channel NAME that is drawn from its own messages would be drawn over it; layers: by topic, or a set of topics.
export const isRepeated = (topic, layers) => /.\/markers$/.test(topic) && layers.has(topic.slice(0, -"/markers".length));

export const isTransforms = (channel) => shortName(channel.schemaName) === "tf2_msgs/TFMessage";
