// SPDX-License-Identifier: Apache-2.0
// A camera's newest picture: raw images of sensor_msgs/Image, and compressed ones that the browser itself can decode.

import { decoderOf } from "./decoder.js";
import { h, setOptions, setText } from "./dom.js";
import * as format from "./format.js";
import { describe, hasRange, isDepth, pixelReader, sampleRange, toRgba } from "./pixels.js";
import { shortName } from "./ros2msg.js";

const TYPES = new Set(["sensor_msgs/Image", "sensor_msgs/CompressedImage"]);

class ImageView {
  params = {};
  #end = null;
  #off = null;
  #topic = "";
  #newest = null; // message that waits for a frame
  #last = null; // message that is shown
  #image = null; // the decoded message that is shown
  #pixels = null; // ImageData, kept while the size is the same
  #decoding = false;
  #times = [];
  #range = null;

  constructor(app) {
    this.app = app;
    this.channel = h("select", {
      id: "image-topic",
      "aria-label": "channel",
      onchange: () => this.app.goto("image", { ...this.params, topic: this.channel.value }),
    });
    this.map = h(
      "select",
      { id: "image-map", "aria-label": "colours of numbers", onchange: () => this.#set("map", this.map.value) },
      ...["", "turbo", "viridis", "gray"].map((m) => h("option", { value: m }, m || "auto colours")),
    );
    const number = (id, name, label) =>
      h("input", {
        id,
        type: "number",
        step: "any",
        placeholder: "auto",
        "aria-label": label,
        onchange: (e) => this.#set(name, e.target.value),
      });
    this.low = number("image-low", "low", "lowest value");
    this.high = number("image-high", "high", "highest value");
    this.ranges = h("label", {}, "range ", this.low, " … ", this.high);
    this.exact = h("input", { type: "checkbox", id: "image-exact", onchange: () => this.#set("exact", this.exact.checked ? "1" : "") });
    this.info = h("span", { id: "image-info", class: "dim num" });
    this.pixel = h("span", { id: "image-pixel", class: "num" });
    this.canvas = h("canvas", {
      id: "image",
      role: "img",
      "aria-label": "camera picture",
      onpointermove: (e) => this.#hover(e),
      onpointerleave: () => setText(this.pixel, ""),
    });
    this.error = h("p", { id: "image-error", role: "status" });
    this.box = h("div", { class: "picture", tabindex: "0", "aria-label": "picture" }, this.canvas, this.error);
    this.element = h(
      "section",
      {},
      h(
        "div",
        { class: "bar" },
        h("label", {}, "channel ", this.channel),
        this.map,
        this.ranges,
        h("label", {}, this.exact, "1 : 1"),
        this.info,
        this.pixel,
      ),
      this.box,
    );
  }

  // ---- the channel ----

  show(params) {
    this.#off ??= this.app.link.on("channels", () => this.#channels());
    this.params = { ...params };
    this.map.value = params.map ?? "";
    this.low.value = params.low ?? "";
    this.high.value = params.high ?? "";
    this.exact.checked = params.exact === "1";
    this.box.classList.toggle("exact", this.exact.checked);
    this.#channels();
    this.#newest ??= this.#last;
  }

  hide() {
    this.#end?.();
    this.#off?.();
    this.#end = this.#off = null;
  }

  #set(name, value) {
    if (value === "") delete this.params[name];
    else this.params[name] = value;
    this.app.remember("image", this.params);
    this.box.classList.toggle("exact", this.exact.checked);
    this.#newest ??= this.#last; // the same picture again, as it is wanted now
  }

  #channels() {
    const { channels, state } = this.app.link;
    const topics = [...channels.values()]
      .filter((c) => TYPES.has(shortName(c.schemaName)))
      .map((c) => c.topic)
      .sort();
    const topic = this.params.topic ?? this.#topic ?? "";
    const chosen = topic || topics[0] || "";
    setOptions(this.channel, chosen && !topics.includes(chosen) ? [chosen, ...topics] : topics);
    this.channel.value = chosen;
    this.channel.disabled = topics.length === 0;
    if (chosen !== this.#topic || !this.#end) this.#listen(chosen);
    if (!chosen) setText(this.error, state === "connected" ? "No channel here has images." : "");
  }

  #listen(topic) {
    this.#end?.();
    if (topic !== this.#topic) this.#clear();
    this.#topic = topic;
    this.#end = topic ? this.app.link.subscribe(topic, (m) => this.#take(m)) : null;
  }

  #clear() {
    this.#newest = this.#last = this.#image = this.#pixels = this.#range = null;
    this.#times = [];
    this.canvas.width = this.canvas.height = 0;
    setText(this.error, "");
    setText(this.info, "");
  }

  #take(m) {
    const now = performance.now();
    this.#times.push(now);
    while (this.#times[0] < now - 2000) this.#times.shift();
    this.#newest = m;
  }

  // ---- the picture ----

  frame() {
    if (!this.#newest || this.#decoding) return;
    const m = this.#newest;
    this.#newest = null;
    this.#last = m;
    try {
      const image = decoderOf(m.channel).decode(m.data);
      if (shortName(m.channel.schemaName) === "sensor_msgs/CompressedImage") this.#compressed(m, image);
      else this.#raw(m, image);
    } catch (e) {
      this.#fail(e);
    }
  }

  #fail(e) {
    setText(this.error, e.message);
    this.canvas.width = this.canvas.height = 0;
    this.#pixels = null;
  }

  #size(width, height) {
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.#pixels = null;
    }
    return this.canvas.getContext("2d");
  }

  #raw(m, image) {
    const { width, height } = describe(image);
    const ctx = this.#size(width, height);
    this.#pixels ??= ctx.createImageData(width, height);
    this.ranges.hidden = !hasRange(image.encoding);
    const style = { map: this.map.value || (isDepth(image.encoding) ? "turbo" : "gray"), range: this.#rangeOf(image) };
    toRgba(image, style, this.#pixels.data);
    ctx.putImageData(this.#pixels, 0, 0);
    this.#image = image;
    this.#done(m, image.encoding, style.range);
  }

  #rangeOf(image) {
    const auto = sampleRange(image);
    if (!hasRange(image.encoding)) return auto;
    // slowly: a flickering range hides what changes
    this.#range = this.#range ? this.#range.map((v, i) => v + (auto[i] - v) * 0.2) : auto;
    const chosen = [this.low, this.high].map((e, i) => (e.value === "" ? this.#range[i] : Number(e.value)));
    return chosen[1] > chosen[0] ? chosen : this.#range;
  }

  async #compressed(m, image) {
    this.#decoding = true;
    this.#image = null;
    this.ranges.hidden = true;
    try {
      const bitmap = await createImageBitmap(new Blob([image.data]));
      this.#size(bitmap.width, bitmap.height).drawImage(bitmap, 0, 0);
      bitmap.close();
      this.#done(m, image.format, null);
    } catch {
      this.#fail(
        new Error(`${image.data.length} bytes of format "${String(image.format).slice(0, 40)}" cannot be decoded by this browser`),
      );
    } finally {
      this.#decoding = false;
    }
  }

  #done(m, what, range) {
    setText(this.error, "");
    const span = (this.#times[this.#times.length - 1] - this.#times[0]) / 1000;
    const hz = span > 0 ? `, ${format.hz((this.#times.length - 1) / span)} Hz` : "";
    const shown = range && hasRange(what) ? `, ${format.value(range[0])} … ${format.value(range[1])}` : "";
    setText(this.info, `${this.canvas.width} × ${this.canvas.height} ${what}${hz}, ${format.seconds(m.logNs)} s${shown}`);
    this.canvas.dataset.frames = String(Number(this.canvas.dataset.frames ?? 0) + 1);
  }

  #hover(e) {
    if (!this.#image) return setText(this.pixel, "");
    const box = this.canvas.getBoundingClientRect();
    const x = Math.floor(((e.clientX - box.left) / box.width) * this.canvas.width);
    const y = Math.floor(((e.clientY - box.top) / box.height) * this.canvas.height);
    if (x < 0 || y < 0 || x >= this.#image.width || y >= this.#image.height) return;
    setText(this.pixel, `(${x}, ${y}): ${pixelReader(this.#image)(x, y).map(format.value).join(" ")}`);
  }
}

export const create = (app) => new ImageView(app);
