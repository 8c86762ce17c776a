// SPDX-License-Identifier: Apache-2.0
// visualization_msgs/Marker: those that are shown, by namespace and number, until they are deleted or their lifetime,
// in simulated time, is over.

import { LINES, LINE_STRIP, Mesh, POINTS, TRIANGLES } from "./gl.js";
import { fromPose, multiply, scaling, transform, translation } from "./mat4.js";
import { frameName } from "./tf.js";

const MARKERS_MAX = 20000;
const TYPE = {
  ARROW: 0,
  CUBE: 1,
  SPHERE: 2,
  CYLINDER: 3,
  LINE_STRIP: 4,
  LINE_LIST: 5,
  CUBE_LIST: 6,
  SPHERE_LIST: 7,
  POINTS: 8,
  TEXT: 9,
  TRIANGLE_LIST: 11,
};
const ACTION = { ADD: 0, DELETE: 2, DELETEALL: 3 };
const SHAPES = new Map([
  [TYPE.CUBE, "cube"],
  [TYPE.SPHERE, "sphere"],
  [TYPE.CYLINDER, "cylinder"],
  [TYPE.CUBE_LIST, "cube"],
  [TYPE.SPHERE_LIST, "sphere"],
]);
const MESHES = new Map([
  [TYPE.LINE_STRIP, LINE_STRIP],
  [TYPE.LINE_LIST, LINES],
  [TYPE.POINTS, POINTS],
  [TYPE.TRIANGLE_LIST, TRIANGLES],
]);

const ns = (d) => d.sec * 1e9 + (d.nanosec ?? d.nsec ?? 0);
const rgba = (c) => [c.r, c.g, c.b, c.a];

export class Markers {
  #shown = new Map(); // namespace and number -> {marker, frame, pose, until, mesh}

  get size() {
    return this.#shown.size;
  }

  apply(marker, simNs) {
    const key = `${marker.ns}\0${marker.id}`;
    if (marker.action === ACTION.DELETEALL) return this.#deleteAll(marker.ns);
    if (marker.action === ACTION.DELETE) return this.#delete(key);
    if (marker.action !== ACTION.ADD) return;
    if (!this.#shown.has(key) && this.#shown.size >= MARKERS_MAX) return;
    const lifetime = ns(marker.lifetime);
    this.#delete(key);
    this.#shown.set(key, {
      marker,
      frame: frameName(marker.header.frame_id),
      pose: fromPose(marker.pose.position, marker.pose.orientation),
      until: lifetime > 0 ? simNs + lifetime : Infinity,
      mesh: null,
    });
  }

  // Remove what has lived long enough; when the next one has.
  expire(simNs) {
    let next = Infinity;
    for (const [key, m] of [...this.#shown]) {
      if (m.until < simNs) this.#delete(key);
      else next = Math.min(next, m.until);
    }
    return next;
  }

  clear() {
    for (const key of [...this.#shown.keys()]) this.#delete(key);
  }

  #delete(key) {
    this.#shown.get(key)?.mesh?.free();
    this.#shown.delete(key);
  }

  // Of one namespace, or of all when it is not named.
  #deleteAll(namespace) {
    for (const [key, m] of [...this.#shown]) if (namespace === "" || m.marker.ns === namespace) this.#delete(key);
  }

  // place(frame): pose of a frame in the fixed one, or null
  draw(scene, place) {
    const places = new Map();
    for (const m of this.#shown.values()) {
      if (!places.has(m.frame)) places.set(m.frame, place(m.frame));
      const frame = places.get(m.frame);
      if (frame) drawMarker(scene, m, multiply(frame, m.pose));
    }
  }
}

function drawMarker(scene, m, pose) {
  const { marker } = m;
  if (MESHES.has(marker.type)) return drawMesh(scene, m, pose);
  if (marker.type === TYPE.TEXT) return scene.label(pose, marker.text, rgba(marker.color));
  if (marker.type === TYPE.ARROW) return drawArrow(scene, marker, pose);
  if (!SHAPES.has(marker.type)) return;
  const { x, y, z } = marker.scale;
  const places = marker.type === TYPE.CUBE_LIST || marker.type === TYPE.SPHERE_LIST ? marker.points : [null];
  places.forEach((p, i) => {
    const at = p ? multiply(pose, translation(p.x, p.y, p.z)) : pose;
    const colour = p && marker.colors.length === places.length ? marker.colors[i] : marker.color;
    scene.renderer.addSolid(SHAPES.get(marker.type), multiply(at, scaling(x, y, z)), rgba(colour));
  });
}

function drawMesh(scene, m, pose) {
  const { marker } = m;
  if (!m.mesh) {
    const colours = marker.colors.length === marker.points.length && marker.points.length ? marker.colors.map(rgba) : rgba(marker.color);
    const points = new Float32Array(marker.points.length * 3);
    marker.points.forEach((p, i) => points.set([p.x, p.y, p.z], i * 3));
    m.mesh = new Mesh(scene.renderer.gl, MESHES.get(marker.type)).set(points, colours);
  }
  scene.renderer.drawFlat(m.mesh, pose, scene.style.size + 1);
}

// From one point to another, or along x by its scale.
function drawArrow(scene, marker, pose) {
  const two = marker.points.length >= 2;
  const from = two ? marker.points[0] : { x: 0, y: 0, z: 0 };
  const to = two ? marker.points[1] : { x: marker.scale.x, y: 0, z: 0 };
  const length = Math.hypot(to.x - from.x, to.y - from.y, to.z - from.z);
  if (!(length > 0)) return;
  const shaft = two ? marker.scale.x : marker.scale.y;
  const head = two ? marker.scale.y : marker.scale.y * 2;
  const tip = Math.min(length * 0.5, two && marker.scale.z > 0 ? marker.scale.z : length * 0.23);
  const along = multiply(pose, alongZ(from, to, length));
  const colour = rgba(marker.color);
  scene.renderer.addSolid(
    "cylinder",
    multiply(along, multiply(translation(0, 0, (length - tip) / 2), scaling(shaft, shaft, length - tip))),
    colour,
  );
  scene.renderer.addSolid("cone", multiply(along, multiply(translation(0, 0, length - tip / 2), scaling(head, head, tip))), colour);
}

// The pose whose z looks from one point to the other.
function alongZ(from, to, length) {
  const z = [(to.x - from.x) / length, (to.y - from.y) / length, (to.z - from.z) / length];
  const helper = Math.abs(z[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
  const x = cross(helper, z);
  const n = Math.hypot(...x);
  const ux = x.map((v) => v / n);
  const y = cross(z, ux);
  return new Float64Array([...ux, 0, ...y, 0, ...z, 0, from.x, from.y, from.z, 1]);
}

const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const originOf = (matrix) => transform(matrix, 0, 0, 0);
