// SPDX-License-Identifier: Apache-2.0
// The 3-D view: layers of the channels that are ticked, in a fixed frame, with a grid, the frames and the vehicle.

import { BEHIND, Camera, control, key, project } from "./camera.js";
import { decoderOf } from "./decoder.js";
import { Keyed, colour, fitCanvas, h, setAttr, setClass, setOptions, setText, smallText } from "./dom.js";
import * as format from "./format.js";
import { Renderer } from "./gl.js";
import { Grid, drawAxes, drawEgo, isRepeated, isTransforms, layerFor } from "./layers.js";
import { originOf } from "./markers.js";
import { TransformTree } from "./tf.js";

const VEHICLE = "base_link";
const LABELS_MAX = 500;
const COLOURS = ["intensity", "height", "distance", "ring", "rgb", "flat"];
const FOLLOW = [
  ["", "nothing"],
  ["position", "position"],
  ["heading", "heading"],
];
const EXTRAS = [
  ["grid", "grid, 10 m"],
  ["frames", "frames"],
  ["ego", "vehicle"],
  ["labels", "labels"],
];

const parseColour = (css) => (css.match(/[\d.]+/g) ?? [0, 0, 0]).slice(0, 3).map((v) => Number(v) / 255);

class View3d {
  params = {};
  tree = new TransformTree();
  #app;
  #shown = false;
  #layers = new Map(); // topic -> layer
  #ends = new Map(); // topic -> function that ends the subscription
  #transforms = new Map(); // topic -> likewise, of /tf and the like
  #camera = new Camera();
  #off = [];
  #drawn = null; // what the last frame was drawn from
  #labels = [];
  #version = -1;
  #listAt = 0;
  #dirty = true;
  #frameTimes = []; // of the last second

  constructor(app) {
    this.#app = app;
    this.#build();
    control(this.#camera, this.canvas);
    this.canvas.addEventListener("webglcontextlost", (e) => this.#contextLost(e));
    this.canvas.addEventListener("webglcontextrestored", () => this.#start());
    app.clock.onJump(() => this.#jumped());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => (this.colours = null));
  }

  // ---- elements ----

  #build() {
    this.canvas = h("canvas", {
      id: "scene",
      tabindex: "0",
      role: "img",
      "aria-label": "3-D scene: arrow keys orbit, with shift they pan, plus and minus zoom, r resets, t looks from the top, f follows",
    });
    this.overlay = h("canvas", { id: "scene-labels", "aria-hidden": "true" });
    this.message = h("p", { class: "scene-message", role: "status" });
    this.status = h("p", { id: "scene-status", class: "dim num" });
    this.fixed = h("select", { id: "fixed-frame", onchange: () => this.#set("frame", this.fixed.value) });
    this.follow = h(
      "select",
      { id: "follow", onchange: () => this.#set("follow", this.follow.value || "nothing") },
      ...FOLLOW.map(([v, l]) => h("option", { value: v }, l)),
    );
    this.colourBy = h(
      "select",
      { id: "colour-by", onchange: () => this.#set("colour", this.colourBy.value) },
      ...COLOURS.map((c) => h("option", {}, c)),
    );
    this.size = h("input", {
      id: "point-size",
      type: "range",
      min: "1",
      max: "10",
      step: "0.5",
      oninput: () => this.#set("size", this.size.value),
    });
    this.low = h("input", {
      id: "range-low",
      type: "number",
      step: "any",
      placeholder: "auto",
      "aria-label": "lowest value of the colours",
      onchange: () => this.#set("low", this.low.value),
    });
    this.high = h("input", {
      id: "range-high",
      type: "number",
      step: "any",
      placeholder: "auto",
      "aria-label": "highest value of the colours",
      onchange: () => this.#set("high", this.high.value),
    });
    this.list = h("ul", { id: "layers", class: "layers" });
    this.rows = new Keyed(this.list, (l) => this.#layerRow(l));
    this.extras = EXTRAS.map(([name, label]) => this.#extra(name, label));
    const field = (label, ...controls) => h("label", { class: "field" }, h("span", {}, label), ...controls);
    const button = (id, label, title, f) => h("button", { id, type: "button", title, onclick: f }, label);
    this.panel = h(
      "details",
      { class: "panel", id: "scene-panel" },
      h("summary", {}, "layers"),
      this.list,
      h("ul", { class: "layers" }, ...this.extras.map((e) => e.row)),
      field("fixed frame", this.fixed),
      field("follow", this.follow),
      field("colour", this.colourBy),
      h("div", { class: "field" }, h("span", {}, "range"), this.low, this.high),
      field("point size", this.size),
      h(
        "div",
        { class: "buttons" },
        button("scene-reset", "reset", "r", () => this.#camera.reset()),
        button("scene-top", "top", "t", () => this.#camera.top()),
        button("scene-in", "+", "zoom in", () => this.#camera.zoom(0.8)),
        button("scene-out", "−", "zoom out", () => this.#camera.zoom(1.25)),
      ),
    );
    this.panel.open = innerWidth >= 720;
    this.element = h("section", { class: "scene" }, this.canvas, this.overlay, this.message, this.panel, this.status);
  }

  #extra(name, label) {
    const box = h("input", { type: "checkbox", id: `show-${name}`, onchange: () => this.#set(name, box.checked ? "1" : "0") });
    return { name, box, row: h("li", {}, h("label", {}, box, label)) };
  }

  #layerRow(layer) {
    const box = h("input", { type: "checkbox", dataset: { layer: layer.topic }, onchange: () => this.#toggle(layer.topic, box.checked) });
    const info = h("span", { class: "info" });
    const element = h("li", { dataset: { layer: layer.topic } }, h("label", {}, box, h("span", { class: "topic" }, layer.topic), info));
    const update = () => {
      box.checked = !this.#isHidden(layer.topic);
      setText(info, !box.checked ? "" : layer.why || layer.info);
      setClass(info, layer.why ? "info warn" : "info dim");
      setAttr(element, "title", layer.why || layer.frame || null);
    };
    return { element, update };
  }

  // ---- what is chosen ----

  // Parameters of the address: frame, follow, colour, size, low, high, hide and show (topics), and 0 of what is always there.
  show(params) {
    this.params = params;
    this.#shown = true;
    this.colourBy.value = COLOURS.includes(params.colour) ? params.colour : "intensity";
    this.size.value = params.size ?? "2.5";
    this.low.value = params.low ?? "";
    this.high.value = params.high ?? "";
    this.follow.value = params.follow === "nothing" ? "" : (params.follow ?? "position");
    for (const e of this.extras) e.box.checked = params[e.name] !== "0";
    this.colours = null;
    if (this.#off.length === 0)
      this.#off = [this.#app.link.on("channels", () => this.#channels()), this.#app.link.on("state", () => (this.#dirty = true))];
    this.#channels();
    this.#start();
  }

  hide() {
    this.#shown = false;
    for (const off of this.#off) off();
    this.#off = [];
    for (const end of [...this.#ends.values(), ...this.#transforms.values()]) end();
    this.#ends.clear();
    this.#transforms.clear();
    for (const layer of this.#layers.values()) layer.free();
  }

  #set(name, value) {
    if (value === "" || value === undefined) delete this.params[name];
    else this.params[name] = value;
    this.#app.remember("3d", this.params);
    this.#dirty = true;
  }

  #topicsOf(name) {
    return new Set((this.params[name] ?? "").split(" ").filter((t) => t));
  }

  // Markers that repeat a layer are drawn only if they are asked for.
  #isHidden(topic) {
    if (this.#topicsOf("hide").has(topic)) return true;
    return isRepeated(topic, this.#layers) && !this.#topicsOf("show").has(topic);
  }

  #toggle(topic, on) {
    const hidden = this.#topicsOf("hide");
    const asked = this.#topicsOf("show");
    const repeated = isRepeated(topic, this.#layers);
    if (on || repeated) hidden.delete(topic);
    else hidden.add(topic);
    if (on && repeated) asked.add(topic);
    else asked.delete(topic);
    this.#set("hide", [...hidden].join(" "));
    this.#set("show", [...asked].join(" "));
    this.#channels();
  }

  // ---- channels ----

  #channels() {
    if (!this.#shown) return;
    const { channels, state } = this.#app.link;
    for (const channel of channels.values()) {
      if (isTransforms(channel)) this.#subscribeTransforms(channel.topic);
      else this.#makeLayer(channel);
    }
    // a lost connection keeps the picture; a channel that was withdrawn goes
    for (const topic of [...this.#layers.keys()]) if (state === "connected" && !channels.has(topic)) this.#removeLayer(topic);
    // which are hidden depends on which there are
    for (const topic of this.#layers.keys()) this.#watchLayer(topic);
    this.#list();
    this.#dirty = true;
  }

  #subscribeTransforms(topic) {
    if (this.#transforms.has(topic)) return;
    const fixed = /static$/.test(topic);
    this.#transforms.set(
      topic,
      this.#app.link.subscribe(topic, (m) => {
        for (const t of decoderOf(m.channel).decode(m.data).transforms) this.tree.set(t, fixed);
        this.#dirty = true;
      }),
    );
  }

  #makeLayer(channel) {
    const layer = this.#layers.has(channel.topic) ? null : layerFor(channel);
    if (layer) this.#layers.set(channel.topic, layer);
  }

  #watchLayer(topic) {
    if (this.#isHidden(topic)) return this.#endLayer(topic);
    if (this.#ends.has(topic)) return;
    const take = (m) => {
      this.#layers.get(topic)?.message(m);
      this.#dirty = true;
    };
    this.#ends.set(topic, this.#app.link.subscribe(topic, take));
  }

  #endLayer(topic) {
    this.#ends.get(topic)?.();
    this.#ends.delete(topic);
    this.#layers.get(topic).free();
  }

  #removeLayer(topic) {
    this.#endLayer(topic);
    this.#layers.delete(topic);
  }

  #jumped() {
    this.tree.forgetMoving();
    for (const layer of this.#layers.values()) layer.jumped?.();
  }

  #list() {
    const layers = [...this.#layers.values()].sort((a, b) => a.topic.localeCompare(b.topic));
    this.rows.update(layers, (l) => l.topic);
    this.#frames();
  }

  #frames() {
    if (this.#version === this.tree.version) return;
    this.#version = this.tree.version;
    const root = this.tree.mainRoot(VEHICLE) ?? "";
    const frames = this.tree.frames;
    setOptions(this.fixed, ["", ...frames], (v) => v || (root ? `${root} (root)` : "(none)"));
    this.fixed.value = frames.includes(this.params.frame) ? this.params.frame : "";
  }

  get #fixedFrame() {
    const chosen = this.params.frame;
    if (chosen && this.tree.has(chosen)) return chosen;
    return this.tree.mainRoot(VEHICLE) ?? [...this.#layers.values()].find((l) => l.frame)?.frame ?? "";
  }

  // ---- drawing ----

  #start() {
    if (this.renderer) return;
    try {
      this.renderer = new Renderer(this.canvas);
      this.grid = new Grid(this.renderer.gl);
      this.#dirty = true;
    } catch (e) {
      setText(this.message, `The 3-D view does not work here: ${e.message}.`);
    }
  }

  // A driver that was restarted takes all buffers along; layers upload theirs again.
  #contextLost(e) {
    e.preventDefault();
    this.renderer = null;
    for (const layer of this.#layers.values()) layer.free();
    setText(this.message, "The graphics context was lost; waiting for a new one.");
  }

  frame(now) {
    if (now - this.#listAt > 500) {
      this.#listAt = now;
      this.#list();
    }
    const resized = this.renderer && fitCanvas(this.canvas);
    const due = [...this.#layers.values()].some((l) => l.due < this.#app.clock.simNs);
    // nothing has come, nothing has ended and nobody has moved: the picture stands
    if (!this.renderer || !(this.#dirty || due || resized || this.#camera.changed)) return;
    this.#dirty = this.#camera.changed = false;
    this.#labels = [];
    const scene = this.#scene(now);
    this.#prepare(scene);
    this.#moveCamera(scene);
    const { canvas, renderer } = this;
    const view = this.#camera.view();
    const projection = this.#camera.projection(canvas.width / canvas.height);
    this.colours ??= {
      background: [...parseColour(colour("--scene")), 1],
      grid: [...parseColour(colour("--grid")), 1],
      text: colour("--fg"),
      halo: colour("--scene"),
      point: [...parseColour(colour("--fg")), 1],
      size: smallText(),
    };
    scene.style.flat = this.colours.point;
    renderer.begin(view, projection, this.colours.background);
    this.#drawAll(scene);
    this.#drawLabels(view, projection);
    setText(this.message, this.#why());
    this.#count(now);
  }

  #scene(now) {
    const { low, high } = this.params;
    const range = low !== undefined && high !== undefined && Number(high) > Number(low) ? [Number(low), Number(high)] : null;
    return {
      renderer: this.renderer,
      tree: this.tree,
      fixed: this.#fixedFrame,
      simNs: this.#app.clock.simNs,
      now,
      style: { colour: this.colourBy.value, size: Number(this.size.value) * Math.min(devicePixelRatio || 1, 2) * 0.8, range },
      label: (matrix, text, rgba) => this.#labels.length < LABELS_MAX && this.#labels.push([originOf(matrix), text, rgba]),
    };
  }

  #prepare(scene) {
    for (const layer of this.#layers.values()) {
      if (this.#isHidden(layer.topic)) continue;
      try {
        layer.prepare(scene);
      } catch (e) {
        layer.why = e.message;
        this.#app.log.once(`${layer.topic}: ${e.message}`);
      }
    }
    // the first cloud may name the frame of a picture without transforms
    scene.fixed = this.#fixedFrame;
  }

  #moveCamera(scene) {
    const mode = this.follow.value;
    const pose = this.tree.has(VEHICLE) ? this.tree.lookup(scene.fixed, VEHICLE) : null;
    scene.ego = pose;
    if (pose && (mode || this.#drawn !== scene.fixed)) {
      this.#camera.target = originOf(pose);
      this.#camera.turning = mode === "heading";
      this.#camera.heading = mode === "heading" ? Math.atan2(pose[1], pose[0]) + BEHIND : 0;
      this.#drawn = scene.fixed;
    }
  }

  #drawAll(scene) {
    const on = Object.fromEntries(this.extras.map((e) => [e.name, e.box.checked]));
    const ground = scene.ego ? scene.ego[14] : 0;
    if (on.grid) this.grid.draw(this.renderer, this.#camera.centre, ground - 0.02, this.colours.grid);
    for (const layer of this.#layers.values()) if (!this.#isHidden(layer.topic)) layer.draw(scene);
    if (on.frames) this.#drawFrames(scene);
    if (on.ego && scene.ego) drawEgo(scene, scene.ego);
    this.renderer.drawSolids();
  }

  #drawFrames(scene) {
    for (const name of this.tree.frames.slice(0, 300)) {
      const pose = this.tree.lookup(scene.fixed, name);
      if (!pose) continue;
      drawAxes(scene, pose, 1);
      scene.label(pose, name);
    }
  }

  #drawLabels(view, projection) {
    fitCanvas(this.overlay);
    const { width, height } = this.overlay;
    const ctx = this.overlay.getContext("2d");
    ctx.clearRect(0, 0, width, height);
    if (!this.extras.find((e) => e.name === "labels").box.checked) return;
    const ratio = width / this.overlay.clientWidth;
    ctx.font = `${this.colours.size * ratio}px system-ui, sans-serif`;
    ctx.lineWidth = 3 * ratio;
    ctx.lineJoin = "round";
    ctx.strokeStyle = this.colours.halo;
    for (const [point, text, rgba] of this.#labels) {
      const at = project(view, projection, point, width, height);
      if (!at) continue;
      const shown = String(text).slice(0, 80);
      ctx.fillStyle = rgba
        ? `rgb(${rgba
            .slice(0, 3)
            .map((v) => v * 255)
            .join()})`
        : this.colours.text;
      ctx.strokeText(shown, at[0] + 4 * ratio, at[1]);
      ctx.fillText(shown, at[0] + 4 * ratio, at[1]);
    }
  }

  #why() {
    if (this.#app.link.state !== "connected") return this.#app.link.why;
    if (this.#layers.size === 0 && this.tree.frames.length === 0)
      return "No channel here can be shown in 3-D: point clouds, laser scans, markers, objects, poses and transforms can.";
    return "";
  }

  // For the line below, and for tests: frames drawn per second, and the range of the colours.
  #count(now) {
    this.#frameTimes.push(now);
    while (this.#frameTimes[0] < now - 1000) this.#frameTimes.shift();
    const ranged = [...this.#layers.values()].find((l) => l.range);
    const range = ranged ? `, ${this.colourBy.value} ${format.fixed(ranged.range[0], 2)} … ${format.fixed(ranged.range[1], 2)}` : "";
    setText(this.status, `${this.#fixedFrame || "no frame"}, ${this.#frameTimes.length} frames/s${range}`);
    this.element.dataset.frames = String(Number(this.element.dataset.frames ?? 0) + 1);
  }

  key(e) {
    if (e.target instanceof HTMLElement && e.target.closest("#tabs, #clock-bar, .panel") && /^Arrow/.test(e.key)) return false;
    if (e.key === "f") {
      this.follow.value = this.follow.value ? "" : "position";
      this.#set("follow", this.follow.value || "nothing");
      return true;
    }
    return key(this.#camera, e);
  }
}

export const create = (app) => new View3d(app);
