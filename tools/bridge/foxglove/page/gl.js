// SPDX-License-Identifier: Apache-2.0
// WebGL 2, as little as the 3-D view needs: points that are read from a message's own bytes, lines and triangles with a
// colour per vertex, and lit solids drawn many at once.

import { MAPS } from "./colormap.js";
import { multiply } from "./mat4.js";

const POINTS_VERTEX = `#version 300 es
layout(location=0) in float a_x; layout(location=1) in float a_y; layout(location=2) in float a_z;
layout(location=3) in float a_value; layout(location=4) in vec4 a_bgr;
uniform mat4 u_view, u_projection; uniform vec4 u_up; uniform vec2 u_range; uniform float u_size; uniform int u_mode;
uniform vec4 u_flat; uniform sampler2D u_map; out vec4 v_color;
void main() {
  vec4 p = vec4(a_x, a_y, a_z, 1.0);
  vec4 eye = u_view * p;
  gl_Position = u_projection * eye;
  gl_PointSize = max(u_size, 1.0);
  float value = u_mode == 1 ? dot(u_up, p) : u_mode == 2 ? length(p.xyz) : a_value;
  float at = clamp((value - u_range.x) / max(u_range.y - u_range.x, 1e-9), 0.0, 1.0);
  vec4 mapped = texture(u_map, vec2(at * 0.9 + 0.09, 0.5)); // the darkest would be lost on dark ground
  v_color = u_mode == 3 ? vec4(a_bgr.zyx, 1.0) : u_mode == 4 ? u_flat : mapped;
  if (isnan(a_x + a_y + a_z) || isinf(a_x + a_y + a_z)) gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
}`;
const FLAT_VERTEX = `#version 300 es
layout(location=0) in vec3 a_position; layout(location=1) in vec4 a_color;
uniform mat4 u_view, u_projection; uniform float u_size; out vec4 v_color;
void main() { gl_Position = u_projection * (u_view * vec4(a_position, 1.0)); gl_PointSize = u_size; v_color = a_color; }`;
const FLAT_FRAGMENT = `#version 300 es
precision mediump float; in vec4 v_color; out vec4 color; void main() { color = v_color; }`;
const SOLID_VERTEX = `#version 300 es
layout(location=0) in vec3 a_position; layout(location=1) in vec3 a_normal;
layout(location=2) in mat4 a_view; layout(location=6) in vec4 a_color;
uniform mat4 u_projection; out vec4 v_color;
void main() {
  gl_Position = u_projection * (a_view * vec4(a_position, 1.0));
  mat3 m = mat3(a_view); // inverse of the transposed, for solids of unequal sides
  vec3 s = vec3(dot(m[0], m[0]), dot(m[1], m[1]), dot(m[2], m[2]));
  vec3 n = normalize(m * (a_normal / max(s, vec3(1e-12))));
  v_color = vec4(a_color.rgb * (0.55 + 0.45 * abs(dot(n, normalize(vec3(0.3, 0.5, 0.8))))), a_color.a);
}`;

export const MODES = { value: 0, height: 1, distance: 2, rgb: 3, flat: 4 };
export const LINES = 1; // as WebGL numbers them
export const LINE_STRIP = 3;
export const TRIANGLES = 4;
export const POINTS = 0;

const INSTANCE_FLOATS = 20; // a matrix and a colour

export class Renderer {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false, powerPreference: "high-performance" });
    if (!gl) throw new Error("this browser has no WebGL 2");
    this.gl = gl;
    this.points = new Program(gl, POINTS_VERTEX, FLAT_FRAGMENT);
    this.flat = new Program(gl, FLAT_VERTEX, FLAT_FRAGMENT);
    this.solid = new Program(gl, SOLID_VERTEX, FLAT_FRAGMENT);
    this.map = mapTexture(gl, MAPS.turbo);
    this.solids = { cube: new Solid(gl, cube()), sphere: new Solid(gl, sphere(16, 10)), cylinder: new Solid(gl, cylinder(20)), cone: new Solid(gl, cone(16)) };
    gl.enable(gl.DEPTH_TEST);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  // view takes coordinates of the fixed frame to the camera's, in doubles.
  begin(view, projection, background) {
    const { gl } = this;
    this.view = view;
    this.projection = new Float32Array(projection);
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(...background);
    gl.depthMask(true);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.disable(gl.BLEND);
    for (const solid of Object.values(this.solids)) solid.clear();
  }

  eye(fixedFromFrame) {
    return new Float32Array(multiply(this.view, fixedFromFrame));
  }

  // style: {mode, range: [low, high], size, flat}
  drawPoints(cloud, fixedFromFrame, style) {
    const { gl, points } = this;
    points.use();
    points.matrix("u_view", this.eye(fixedFromFrame));
    points.matrix("u_projection", this.projection);
    const up = fixedFromFrame; // its third row: height in the fixed frame
    gl.uniform4f(points.at("u_up"), up[2], up[6], up[10], up[14]);
    gl.uniform2f(points.at("u_range"), ...style.range);
    gl.uniform1f(points.at("u_size"), style.size);
    gl.uniform1i(points.at("u_mode"), style.mode);
    gl.uniform4fv(points.at("u_flat"), style.flat);
    gl.bindTexture(gl.TEXTURE_2D, this.map);
    gl.bindVertexArray(cloud.vao);
    gl.drawArrays(gl.POINTS, 0, cloud.count);
  }

  drawFlat(mesh, fixedFromFrame, size = 2) {
    const { gl, flat } = this;
    if (mesh.count === 0) return;
    flat.use();
    flat.matrix("u_view", this.eye(fixedFromFrame));
    flat.matrix("u_projection", this.projection);
    gl.uniform1f(flat.at("u_size"), size);
    this.#blend(mesh.translucent);
    gl.bindVertexArray(mesh.vao);
    gl.drawArrays(mesh.mode, 0, mesh.count);
    this.#blend(false);
  }

  // Remember one solid of the next drawSolids().
  addSolid(shape, fixedFromSolid, colour) {
    this.solids[shape].add(multiply(this.view, fixedFromSolid), colour);
  }

  // The opaque ones first; the others do not hide each other.
  drawSolids() {
    this.solid.use();
    this.solid.matrix("u_projection", this.projection);
    for (const s of Object.values(this.solids)) s.draw(s.opaque);
    this.#blend(true);
    for (const s of Object.values(this.solids)) s.draw(s.translucent);
    this.#blend(false);
  }

  #blend(on) {
    const { gl } = this;
    if (on) gl.enable(gl.BLEND);
    else gl.disable(gl.BLEND);
    gl.depthMask(!on);
  }
}

class Program {
  #places = new Map();

  constructor(gl, vertex, fragment) {
    this.gl = gl;
    this.program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(this.program) || "a shader failed");
  }

  use() {
    this.gl.useProgram(this.program);
  }

  at(name) {
    if (!this.#places.has(name)) this.#places.set(name, this.gl.getUniformLocation(this.program, name));
    return this.#places.get(name);
  }

  matrix(name, m) {
    this.gl.uniformMatrix4fv(this.at(name), false, m);
  }
}

function mapTexture(gl, table) {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(table.buffer));
  for (const [name, value] of [[gl.TEXTURE_MIN_FILTER, gl.LINEAR], [gl.TEXTURE_MAG_FILTER, gl.LINEAR], [gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]])
    gl.texParameteri(gl.TEXTURE_2D, name, value);
  return texture;
}

// ---- points ----

// A cloud on the GPU: the bytes as they came, and where the values are in each point.
export class PointBuffer {
  count = 0;

  constructor(gl) {
    this.gl = gl;
    this.vao = gl.createVertexArray();
    this.buffer = gl.createBuffer();
    this.layout = "";
  }

  // attributes: [{location, size, type, normalized, offset}]; a location that is left out reads 0.
  upload(bytes, stride, count, attributes) {
    const { gl } = this;
    gl.bindVertexArray(this.vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.STREAM_DRAW);
    const layout = `${stride} ${attributes.map((a) => Object.values(a).join()).join(" ")}`;
    if (layout !== this.layout) this.#layOut(stride, attributes);
    this.layout = layout;
    this.count = count;
    gl.bindVertexArray(null);
  }

  #layOut(stride, attributes) {
    const { gl } = this;
    for (let location = 0; location < 5; location++) gl.disableVertexAttribArray(location);
    for (const a of attributes) {
      gl.enableVertexAttribArray(a.location);
      gl.vertexAttribPointer(a.location, a.size, a.type, a.normalized, stride, a.offset);
    }
  }

  free() {
    this.gl.deleteBuffer(this.buffer);
    this.gl.deleteVertexArray(this.vao);
  }
}

// ---- lines and triangles ----

// Vertices of three floats and a colour of four bytes: 16 bytes each.
export class Mesh {
  count = 0;
  translucent = false;

  constructor(gl, mode) {
    this.gl = gl;
    this.mode = mode;
    this.vao = gl.createVertexArray();
    this.buffer = gl.createBuffer();
    gl.bindVertexArray(this.vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 16, 0);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 16, 12);
    gl.bindVertexArray(null);
  }

  // positions: numbers, three a vertex; colours: [r, g, b, a] of 0..1, one for all or one a vertex
  set(positions, colours) {
    const n = Math.floor(positions.length / 3);
    const floats = new Float32Array(n * 4);
    const bytes = new Uint8Array(floats.buffer);
    const one = typeof colours[0] === "number";
    this.translucent = false;
    for (let i = 0; i < n; i++) {
      const c = one ? colours : colours[i];
      for (let k = 0; k < 3; k++) floats[i * 4 + k] = positions[i * 3 + k];
      for (let k = 0; k < 4; k++) bytes[i * 16 + 12 + k] = Math.max(0, Math.min(255, Math.round(c[k] * 255)));
      if (c[3] < 0.999) this.translucent = true;
    }
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, floats, this.gl.DYNAMIC_DRAW);
    this.count = n;
    return this;
  }

  free() {
    this.gl.deleteBuffer(this.buffer);
    this.gl.deleteVertexArray(this.vao);
  }
}

// ---- solids ----

// One unit solid and the places where it is drawn in this frame.
class Solid {
  constructor(gl, vertices) {
    this.gl = gl;
    this.count = vertices.length / 6;
    this.vao = gl.createVertexArray();
    this.instances = gl.createBuffer();
    this.opaque = new Instances();
    this.translucent = new Instances();
    const buffer = gl.createBuffer();
    gl.bindVertexArray(this.vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(vertices), gl.STATIC_DRAW);
    this.#attribute(0, 3, 24, 0, 0);
    this.#attribute(1, 3, 24, 12, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.instances);
    for (let i = 0; i < 5; i++) this.#attribute(2 + i, 4, INSTANCE_FLOATS * 4, i * 16, 1);
    gl.bindVertexArray(null);
  }

  #attribute(location, size, stride, offset, divisor) {
    const { gl } = this;
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, size, gl.FLOAT, false, stride, offset);
    gl.vertexAttribDivisor(location, divisor);
  }

  clear() {
    this.opaque.count = this.translucent.count = 0;
  }

  add(matrix, colour) {
    (colour[3] < 0.999 ? this.translucent : this.opaque).add(matrix, colour);
  }

  draw(list) {
    const { gl } = this;
    if (list.count === 0) return;
    gl.bindVertexArray(this.vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.instances);
    gl.bufferData(gl.ARRAY_BUFFER, list.data.subarray(0, list.count * INSTANCE_FLOATS), gl.STREAM_DRAW);
    gl.drawArraysInstanced(gl.TRIANGLES, 0, this.count, list.count);
  }
}

class Instances {
  count = 0;
  data = new Float32Array(64 * INSTANCE_FLOATS);

  add(matrix, colour) {
    if ((this.count + 1) * INSTANCE_FLOATS > this.data.length) {
      const larger = new Float32Array(this.data.length * 2);
      larger.set(this.data);
      this.data = larger;
    }
    this.data.set(matrix, this.count * INSTANCE_FLOATS);
    this.data.set(colour, this.count * INSTANCE_FLOATS + 16);
    this.count++;
  }
}

// ---- shapes: triangles of position and normal; all fit the cube of side 1 around the origin ----

function cube() {
  const out = [];
  for (let axis = 0; axis < 3; axis++)
    for (const side of [-1, 1])
      for (const [u, v] of [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]]) {
        const p = [0, 0, 0], n = [0, 0, 0];
        p[axis] = side / 2;
        p[(axis + 1) % 3] = u / 2;
        p[(axis + 2) % 3] = v / 2;
        n[axis] = side;
        out.push(...p, ...n);
      }
  return out;
}

function quad(out, a, b, c, d) {
  for (const [p, n] of [a, b, c, a, c, d]) out.push(...p, ...n);
}

function sphere(columns, rows) {
  const at = (i, j) => {
    const u = (2 * Math.PI * i) / columns, v = (Math.PI * j) / rows;
    const n = [Math.sin(v) * Math.cos(u), Math.sin(v) * Math.sin(u), Math.cos(v)];
    return [n.map((x) => x / 2), n];
  };
  const out = [];
  for (let i = 0; i < columns; i++)
    for (let j = 0; j < rows; j++) quad(out, at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j));
  return out;
}

// Along z, of radius 1/2 below and top above.
function tube(columns, top) {
  const out = [];
  for (let i = 0; i < columns; i++) {
    const [a, b] = [i, i + 1].map((k) => [Math.cos((2 * Math.PI * k) / columns), Math.sin((2 * Math.PI * k) / columns)]);
    const side = (p, r, z) => [[p[0] * r, p[1] * r, z], [p[0], p[1], 0.5 - top]];
    quad(out, side(a, 0.5, -0.5), side(b, 0.5, -0.5), side(b, top, 0.5), side(a, top, 0.5));
    for (const [r, z] of [[0.5, -0.5], [top, 0.5]])
      for (const p of [[0, 0, z], [a[0] * r, a[1] * r, z], [b[0] * r, b[1] * r, z]]) out.push(...p, 0, 0, Math.sign(z));
  }
  return out;
}

const cylinder = (columns) => tube(columns, 0.5);
const cone = (columns) => tube(columns, 0);
