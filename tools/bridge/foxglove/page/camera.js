// SPDX-License-Identifier: Apache-2.0
// A camera that looks at a target from a distance, moved by mouse, fingers and keys. z is up.

import { multiply, perspective, transform, translation } from "./mat4.js";

const FOV = (50 * Math.PI) / 180;
const PITCH_MAX = Math.PI / 2;
const START = { yaw: -2.4, pitch: 0.6, distance: 45 };
export const BEHIND = Math.PI - START.yaw; // heading of a camera that has been reset, to stand behind what looks along x

export class Camera {
  target = [0, 0, 0]; // in the fixed frame
  heading = 0; // added to yaw: of the vehicle that is followed
  turning = false; // with it
  changed = true;

  constructor() {
    this.reset();
  }

  reset() {
    Object.assign(this, START);
    this.offset = [0, 0]; // of the target, on the ground, from what is followed
    this.changed = true;
  }

  top() {
    this.pitch = PITCH_MAX;
    // what it turns with looks up, else north
    this.yaw = this.turning ? START.yaw : -Math.PI / 2;
    this.changed = true;
  }

  orbit(dx, dy) {
    this.yaw -= dx;
    this.pitch = Math.max(-0.2, Math.min(PITCH_MAX, this.pitch + dy));
    this.changed = true;
  }

  // By parts of the height of the picture, right and up on the ground.
  pan(dx, dy) {
    const size = 2 * this.distance * Math.tan(FOV / 2);
    const a = this.yaw + this.heading;
    const right = [-Math.sin(a), Math.cos(a)];
    const ahead = [-Math.cos(a), -Math.sin(a)];
    for (let i = 0; i < 2; i++) this.offset[i] += size * (right[i] * dx + ahead[i] * dy);
    this.changed = true;
  }

  zoom(factor) {
    this.distance = Math.max(0.5, Math.min(20000, this.distance * factor));
    this.changed = true;
  }

  projection(aspect) {
    return perspective(FOV, aspect, Math.max(0.05, this.distance * 0.01), this.distance * 20 + 500);
  }

  // From the fixed frame to the camera's, whose -z looks ahead.
  view() {
    const a = this.yaw + this.heading;
    const [sy, cy, sp, cp] = [Math.sin(a), Math.cos(a), Math.sin(this.pitch), Math.cos(this.pitch)];
    // rows: right, up, back
    const rotation = new Float64Array([-sy, -sp * cy, cp * cy, 0, cy, -sp * sy, cp * sy, 0, 0, cp, sp, 0, 0, 0, 0, 1]);
    const centre = this.centre;
    const moved = multiply(rotation, translation(-centre[0], -centre[1], -centre[2]));
    return multiply(translation(0, 0, -this.distance), moved);
  }

  get centre() {
    return [this.target[0] + this.offset[0], this.target[1] + this.offset[1], this.target[2]];
  }
}

// Where a point of the fixed frame is on a picture of w by h; null: behind the camera, or outside.
export function project(view, projection, point, w, h) {
  const [x, y, z] = transform(view, ...point);
  if (z > -0.05) return null;
  const px = (projection[0] * x) / -z, py = (projection[5] * y) / -z;
  if (Math.abs(px) > 1.1 || Math.abs(py) > 1.1) return null;
  return [((px + 1) / 2) * w, ((1 - py) / 2) * h];
}

// ---- hands ----

// Pointers of any kind: one orbits (with shift, or another button: pans), two pan and zoom.
export function control(camera, element) {
  const pointers = new Map();
  element.addEventListener("pointerdown", (e) => {
    element.focus({ preventScroll: true });
    element.setPointerCapture(e.pointerId);
    pointers.set(e.pointerId, [e.clientX, e.clientY, e.button]);
  });
  for (const end of ["pointerup", "pointercancel"]) element.addEventListener(end, (e) => pointers.delete(e.pointerId));
  element.addEventListener("pointermove", (e) => {
    const before = pointers.get(e.pointerId);
    if (!before) return;
    const now = [e.clientX, e.clientY, before[2]];
    if (pointers.size === 1) drag(camera, element, before, now, e.shiftKey || before[2] !== 0);
    else pinch(camera, element, [...pointers], e.pointerId, now);
    pointers.set(e.pointerId, now);
  });
  element.addEventListener("contextmenu", (e) => e.preventDefault());
  element.addEventListener("wheel", (e) => {
    e.preventDefault();
    const unit = e.deltaMode === 1 ? 30 : e.deltaMode === 2 ? 300 : 1;
    camera.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY * unit * 0.0015))));
  }, { passive: false });
}

function drag(camera, element, before, now, panning) {
  const dx = (now[0] - before[0]) / element.clientHeight;
  const dy = (now[1] - before[1]) / element.clientHeight;
  if (panning) camera.pan(-dx, dy);
  else camera.orbit(dx * 4, dy * 4);
}

function pinch(camera, element, pointers, id, now) {
  const before = pointers.find(([k]) => k === id)[1];
  const other = pointers.find(([k]) => k !== id)[1];
  const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
  camera.zoom(Math.max(0.5, Math.min(2, apart(before) / Math.max(1, apart(now)))));
  // the middle of both moves by half of what one does
  drag(camera, element, before, [(before[0] + now[0]) / 2, (before[1] + now[1]) / 2], true);
}

// true: the key was one of the camera's
export function key(camera, e) {
  const step = 0.08;
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const arrow = arrows[e.key];
  if (arrow && e.shiftKey) camera.pan(arrow[0] * step, arrow[1] * step);
  else if (arrow) camera.orbit(-arrow[0] * step, arrow[1] * step);
  else if (e.key === "+" || e.key === "=") camera.zoom(0.85);
  else if (e.key === "-" || e.key === "_") camera.zoom(1 / 0.85);
  else if (e.key === "r") camera.reset();
  else if (e.key === "t") camera.top();
  else return false;
  return true;
}
