// SPDX-License-Identifier: Apache-2.0
// The tree of coordinate frames: each frame's newest pose in its parent, and from them the pose of any in any other.

import { fromPose, identity, invertRigid, multiply } from "./mat4.js";

const FRAMES_MAX = 5000;
const DEPTH_MAX = 256; // more is a loop, or nobody's robot

export const frameName = (name) => (name.startsWith("/") ? name.slice(1) : name);

const finite = (v) => Object.values(v).every(Number.isFinite);

export class TransformTree {
  version = 0; // counts changes of the tree's shape, not of poses
  #frames = new Map(); // child -> {parent, matrix, fixed}
  #roots = new Set(); // frames that were only ever named as parents

  // One geometry_msgs/TransformStamped; false: it is not usable.
  set(stamped, fixed = false) {
    const child = frameName(stamped.child_frame_id);
    const parent = frameName(stamped.header.frame_id);
    const { translation, rotation } = stamped.transform;
    if (child === "" || parent === "" || child === parent || !finite(translation) || !finite(rotation)) return false;
    const known = this.#frames.get(child);
    if (!known && this.#frames.size >= FRAMES_MAX) return false;
    if (known?.parent !== parent) this.version++;
    this.#frames.set(child, { parent, matrix: fromPose(translation, rotation), fixed });
    this.#roots.delete(child);
    if (!this.#frames.has(parent)) this.#roots.add(parent);
    return true;
  }

  // Time has jumped: what moves is unknown until it is sent again.
  forgetMoving() {
    for (const [child, f] of this.#frames) if (!f.fixed) this.#frames.delete(child);
    this.#settleRoots();
  }

  clear() {
    this.#frames.clear();
    this.#settleRoots();
  }

  #settleRoots() {
    this.#roots.clear();
    for (const { parent } of this.#frames.values()) if (!this.#frames.has(parent)) this.#roots.add(parent);
    this.version++;
  }

  get frames() {
    const names = new Set(this.#frames.keys());
    for (const { parent } of this.#frames.values()) names.add(parent);
    return [...names].sort();
  }

  has(name) {
    return this.#frames.has(name) || this.#roots.has(name);
  }

  parentOf(name) {
    return this.#frames.get(name)?.parent;
  }

  // The top of the tree that a frame is in; a frame that is in no loop, or undefined.
  rootOf(name) {
    let at = name;
    for (let depth = 0; depth < DEPTH_MAX; depth++) {
      const parent = this.#frames.get(at)?.parent;
      if (parent === undefined) return at;
      at = parent;
    }
    return undefined;
  }

  // Root of the tree with the vehicle in it, else of the largest; undefined: there are no frames.
  mainRoot(vehicle = "base_link") {
    if (this.has(vehicle)) return this.rootOf(vehicle);
    const count = new Map();
    for (const name of this.#frames.keys()) {
      const root = this.rootOf(name);
      if (root !== undefined) count.set(root, (count.get(root) ?? 0) + 1);
    }
    return [...count].sort((a, b) => b[1] - a[1])[0]?.[0];
  }

  // [root, pose in it]; null: a loop
  #upwards(name) {
    const matrix = identity();
    let at = name;
    let product = matrix;
    for (let depth = 0; depth < DEPTH_MAX; depth++) {
      const f = this.#frames.get(at);
      if (!f) return [at, product];
      product = multiply(f.matrix, product);
      at = f.parent;
    }
    return null;
  }

  // Takes coordinates of source to coordinates of target; null: they are not connected.
  lookup(target, source) {
    const from = frameName(source);
    const to = frameName(target);
    if (from === to) return identity();
    const a = this.#upwards(from);
    const b = this.#upwards(to);
    if (!a || !b || a[0] !== b[0]) return null;
    return multiply(invertRigid(b[1]), a[1]);
  }
}
