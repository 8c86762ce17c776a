// SPDX-License-Identifier: Apache-2.0
// What views stand on: frames, colours, pixels, clouds, series.
"use strict";
const assert = require("assert");

module.exports = async ({ load, random }) => {
  const { TransformTree } = await load("tf.js");
  const { transform, invertRigid, multiply, fromPose } = await load("mat4.js");
  const { MAPS, indexOf } = await load("colormap.js");
  const pixels = await load("pixels.js");
  const clouds = await load("clouds.js");
  const { Samples } = await load("samples.js");
  const { ticks } = await load("plot-draw.js");
  const format = await load("format.js");
  const { Markers } = await load("markers.js");
  const { isRepeated, layerFor } = await load("layers.js");

  const stamped = (parent, child, x, y, z, yaw = 0) => ({
    header: { frame_id: parent }, child_frame_id: child,
    transform: { translation: { x, y, z }, rotation: { x: 0, y: 0, z: Math.sin(yaw / 2), w: Math.cos(yaw / 2) } },
  });
  const near = (a, b, eps = 1e-9) => a.forEach((v, i) => assert(Math.abs(v - b[i]) <= eps, `${a} is not ${b}`));
  const float = (name, offset, datatype = 7) => ({ name, offset, datatype, count: 1 });

  return {
    "a point goes up one branch of the tree and down another"() {
      const tree = new TransformTree();
      tree.set(stamped("map", "base_link", 500000, 4000000, 30, Math.PI / 2));
      tree.set(stamped("/base_link", "/lidar", 1, 0, 2), true);
      tree.set(stamped("base_link", "camera", 2, 0, 1, Math.PI), true);
      near(transform(tree.lookup("map", "lidar"), 1, 0, 0), [500000, 4000002, 32]);
      near(transform(tree.lookup("camera", "lidar"), 0, 0, 0), [1, 0, 1]);
      near(transform(tree.lookup("lidar", "map"), ...transform(tree.lookup("map", "lidar"), 3, 4, 5)), [3, 4, 5], 1e-6);
      assert.strictEqual(tree.mainRoot(), "map");
      assert.strictEqual(tree.lookup("map", "nowhere"), null);
      near([...tree.lookup("nowhere", "nowhere")], [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
      assert.deepStrictEqual(tree.frames, ["base_link", "camera", "lidar", "map"]);
    },

    "loops, own parents, unnamed frames and what is not finite do no harm"() {
      const tree = new TransformTree();
      assert(!tree.set(stamped("a", "a", 0, 0, 0)));
      assert(!tree.set(stamped("", "a", 0, 0, 0)));
      assert(!tree.set(stamped("b", "a", NaN, 0, 0)));
      tree.set(stamped("a", "b", 1, 0, 0));
      tree.set(stamped("b", "a", 1, 0, 0));
      assert.strictEqual(tree.lookup("a", "c"), null);
      assert.strictEqual(tree.lookup("c", "b"), null);
      assert.strictEqual(tree.rootOf("a"), undefined);
      tree.mainRoot();
      for (let i = 0; i < 6000; i++) tree.set(stamped("root", `f${i}`, 0, 0, 0));
      assert(tree.frames.length <= 5001);
    },

    "what moves is forgotten after a jump, what is fixed stays"() {
      const tree = new TransformTree();
      tree.set(stamped("map", "base_link", 1, 2, 3));
      tree.set(stamped("base_link", "lidar", 1, 0, 0), true);
      const before = tree.version;
      tree.forgetMoving();
      assert(tree.version > before);
      assert.strictEqual(tree.lookup("map", "lidar"), null);
      assert.strictEqual(tree.mainRoot(), "base_link");
      near(transform(tree.lookup("base_link", "lidar"), 0, 0, 0), [1, 0, 0]);
    },

    "an inverse undoes a pose, and rotations need not be normal"() {
      for (let i = 0; i < 100; i++) {
        const r = () => random.next() / 2 ** 31 - 1;
        const m = fromPose({ x: r() * 1e6, y: r(), z: r() }, { x: r() * 3, y: r() * 3, z: r() * 3, w: r() * 3 });
        near([...multiply(invertRigid(m), m)], [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], 1e-6);
      }
      near([...fromPose({ x: 1, y: 2, z: 3 }, { x: 0, y: 0, z: 0, w: 0 })], [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 2, 3, 1]);
    },

    "colour maps have 256 opaque colours, those that should rise do"() {
      for (const [name, map] of Object.entries(MAPS)) {
        assert.strictEqual(map.length, 1024, name);
        for (let i = 0; i < 256; i++) assert.strictEqual(map[i * 4 + 3], 255, name);
      }
      const light = (m, i) => 0.2126 * m[i * 4] + 0.7152 * m[i * 4 + 1] + 0.0722 * m[i * 4 + 2];
      for (const name of ["gray", "viridis"]) for (let i = 8; i < 256; i += 8) assert(light(MAPS[name], i) > light(MAPS[name], i - 8), `${name} ${i}`);
      // Turbo: dark blue, green in the middle, dark red
      const at = (i) => [...MAPS.turbo.subarray(i * 4, i * 4 + 3)];
      assert(at(25)[2] > at(25)[0] && at(128)[1] > at(128)[2] && at(240)[0] > at(240)[2] * 3);
      assert.deepStrictEqual([indexOf(0, 0, 10), indexOf(10, 0, 10), indexOf(-5, 0, 10), indexOf(99, 0, 10), indexOf(5, 5, 5), indexOf(NaN, 0, 1)], [0, 255, 0, 255, 128, -1]);
    },

    "pixels of every encoding become RGBA"() {
      const image = (encoding, width, step, data, big = false) => ({ width, height: 1, step, encoding, is_bigendian: big, data: Uint8Array.from(data) });
      const rgba = (i, style = { map: "gray", range: [0, 255] }) => {
        const out = new Uint8ClampedArray(i.width * i.height * 4);
        pixels.toRgba(i, style, out);
        return [...out];
      };
      assert.deepStrictEqual(rgba(image("rgb8", 1, 3, [1, 2, 3])), [1, 2, 3, 255]);
      assert.deepStrictEqual(rgba(image("bgr8", 1, 8, [1, 2, 3, 0, 0, 0, 0, 0])), [3, 2, 1, 255]);
      assert.deepStrictEqual(rgba(image("rgba8", 1, 4, [1, 2, 3, 4])), [1, 2, 3, 4]);
      assert.deepStrictEqual(rgba(image("bgra8", 1, 4, [1, 2, 3, 4])), [3, 2, 1, 4]);
      assert.deepStrictEqual(rgba(image("mono8", 2, 2, [0, 255])), [0, 0, 0, 255, 255, 255, 255, 255]);
      assert.deepStrictEqual(rgba(image("bayer_rggb8", 1, 1, [128])), [128, 128, 128, 255]);
      assert.deepStrictEqual(rgba(image("mono16", 1, 2, [0x80, 0x00], true), { map: "gray", range: [0, 65535] }), [127, 127, 127, 255]);
      assert.deepStrictEqual(rgba(image("mono16", 1, 2, [0x00, 0x80]), { map: "gray", range: [0, 65535] }), [127, 127, 127, 255]);
      const depth = image("32FC1", 2, 8, [...new Uint8Array(Float32Array.of(NaN, 4).buffer)]);
      assert.deepStrictEqual(rgba(depth, { map: "turbo", range: [0, 4] }).slice(0, 4), [0, 0, 0, 0]);
      assert.deepStrictEqual(rgba(depth, { map: "turbo", range: [0, 4] }).slice(4), [...MAPS.turbo.subarray(1020)]);
      assert.deepStrictEqual(pixels.sampleRange(depth), [4, 4]);
      assert.deepStrictEqual(pixels.pixelReader(depth)(1, 0), [4]);
    },

    "an image that is not what it says is refused"() {
      const image = { width: 10, height: 10, step: 30, encoding: "rgb8", is_bigendian: 0, data: new Uint8Array(300) };
      pixels.describe(image);
      for (const change of [{ width: 0 }, { width: 4294967295 }, { height: 11 }, { step: 29 }, { step: 4294967295 }, { data: new Uint8Array(299) }, { encoding: "<b>" }, { encoding: "" }])
        assert.throws(() => pixels.describe({ ...image, ...change }), Error, JSON.stringify(change));
    },

    "a cloud is read in place where a GPU can, else copied with the same values"() {
      const data = new Uint8Array(2 * 16);
      const view = new DataView(data.buffer);
      [1, 2, 3, 4, 5, 6, 7, 8].forEach((v, i) => view.setFloat32(i * 4, v, true));
      const cloud = { width: 2, height: 1, point_step: 16, row_step: 32, is_bigendian: false, data, fields: [float("x", 0), float("y", 4), float("z", 8), float("intensity", 12)] };
      const c = clouds.layout(cloud);
      const used = ["x", "y", "z", "intensity"].map((n) => c.fields.get(n));
      assert(clouds.readable(c, used));
      assert.deepStrictEqual([...clouds.copy(c, used)], [1, 2, 3, 4, 5, 6, 7, 8]);
      assert.deepStrictEqual(clouds.sampleRange(c, used[3], (x, y, z, v) => v), [4, 8]);
      assert(!clouds.readable(clouds.layout({ ...cloud, is_bigendian: true }), used));
      const odd = new Uint8Array(27);
      new DataView(odd.buffer).setFloat64(0, 1.5, true);
      const d = clouds.layout({ width: 1, height: 1, point_step: 27, row_step: 27, is_bigendian: false, data: odd, fields: [float("x", 0, 8), float("y", 8, 8), float("z", 16, 8), float("i", 24, 2)] });
      const fields = ["x", "y", "z"].map((n) => d.fields.get(n));
      assert(!clouds.readable(d, fields));
      assert.deepStrictEqual([...clouds.copy(d, fields)], [1.5, 0, 0]);
      assert.strictEqual(clouds.fieldFor(d.fields, "intensity").name, "i");
      // padded rows: the second begins behind the padding
      const padded = clouds.layout({ ...cloud, width: 1, height: 2, point_step: 12, row_step: 16 });
      const xyz = ["x", "y", "z"].map((n) => padded.fields.get(n));
      assert(!clouds.readable(padded, xyz));
      assert.deepStrictEqual([...clouds.copy(padded, xyz)], [1, 2, 3, 5, 6, 7]);
    },

    "a cloud that is not what it says is refused"() {
      const cloud = { width: 2, height: 1, point_step: 12, row_step: 24, is_bigendian: false, data: new Uint8Array(24), fields: [float("x", 0), float("y", 4), float("z", 8)] };
      clouds.layout(cloud);
      for (const change of [{ width: 3 }, { width: 4294967295, height: 4294967295 }, { point_step: 0 }, { row_step: 23 }, { height: 2 }, { data: new Uint8Array(0) },
        { fields: [float("x", 4294967295), float("y", 4), float("z", 8)] }, { fields: [{ ...float("x", 0), count: 4294967295 }] }, { fields: [float("x", 0, 99)] }, { fields: [] }])
        assert.throws(() => clouds.layout({ ...cloud, ...change }), Error, JSON.stringify(change));
      assert.strictEqual(clouds.layout({ ...cloud, width: 0, row_step: 0, data: new Uint8Array(0) }).count, 0);
    },

    "markers stand until they are replaced, deleted, or their simulated time is over"() {
      const solids = [];
      const scene = { renderer: { addSolid: (shape, m, c) => solids.push([shape, m[12], c[3]]) }, style: { size: 1 }, label: (m, text) => solids.push([text]) };
      const drawn = (markers) => {
        solids.length = 0;
        markers.draw(scene, (frame) => (frame === "lost" ? null : fromPose({ x: 100, y: 0, z: 0 }, { x: 0, y: 0, z: 0, w: 1 })));
        return solids.map((x) => x.slice(0, 2).join(" ")).sort();
      };
      const marker = (change) => ({
        header: { frame_id: "/map" }, ns: "a", id: 1, type: 1, action: 0, pose: { position: { x: 1, y: 0, z: 0 }, orientation: { x: 0, y: 0, z: 0, w: 1 } },
        scale: { x: 1, y: 1, z: 1 }, color: { r: 1, g: 1, b: 1, a: 1 }, lifetime: { sec: 0, nanosec: 0 }, points: [], colors: [], text: "", ...change,
      });
      const m = new Markers();
      m.apply(marker({}), 0);
      m.apply(marker({ id: 2, type: 2, lifetime: { sec: 1, nanosec: 500 } }), 1e9);
      m.apply(marker({ ns: "b", type: 9, text: "<b>" }), 0);
      m.apply(marker({ ns: "b", id: 3, header: { frame_id: "lost" } }), 0);
      m.apply(marker({ ns: "b", id: 4, type: 77 }), 0);
      assert.deepStrictEqual(drawn(m), ["<b>", "cube 101", "sphere 101"]);
      m.apply(marker({ type: 3 }), 0);
      assert.strictEqual(m.expire(2e9), 2e9 + 500);
      assert.deepStrictEqual(drawn(m), ["<b>", "cylinder 101", "sphere 101"]);
      assert.strictEqual(m.expire(2e9 + 501), Infinity);
      assert.deepStrictEqual(drawn(m), ["<b>", "cylinder 101"]);
      m.apply(marker({ action: 2 }), 0);
      assert.deepStrictEqual(drawn(m), ["<b>"]);
      m.apply(marker({ type: 0, points: [{ x: 0, y: 0, z: 0 }, { x: 0, y: 0, z: 4 }] }), 0);
      assert.deepStrictEqual(drawn(m), ["<b>", "cone 101", "cylinder 101"]);
      m.apply(marker({ action: 3, ns: "b" }), 0);
      assert.strictEqual(m.size, 1);
      m.apply(marker({ action: 3, ns: "" }), 0);
      assert.strictEqual(m.size, 0);
      for (let i = 0; i < 20100; i++) m.apply(marker({ id: i }), 0);
      assert.strictEqual(m.size, 20000);
    },

    "markers of a channel that is drawn itself repeat it, others do not"() {
      const channels = {
        "/objects": "lgsvl_msgs/msg/Detection3DArray", "/objects/markers": "visualization_msgs/msg/MarkerArray", "/radar": "lgsvl_msgs/msg/DetectedRadarObjectArray",
        "/radar/markers": "visualization_msgs/msg/MarkerArray", "/markers": "visualization_msgs/msg/MarkerArray", "": "sensor_msgs/msg/PointCloud2",
      };
      const layers = new Set(Object.keys(channels).filter((topic) => layerFor({ topic, schemaName: channels[topic] })));
      assert.deepStrictEqual(Object.keys(channels).filter((topic) => isRepeated(topic, layers)), ["/objects/markers"]);
    },

    "a series keeps the newest, finds by time and begins again when time goes back"() {
      const s = new Samples();
      for (let i = 0; i < 70000; i++) s.push(i, i * 2);
      assert.strictEqual(s.length, 65536);
      assert.deepStrictEqual([s.time(0), s.value(s.length - 1), s.find(69999), s.find(1e9)], [4464, 139998, 65535, 65536]);
      assert.deepStrictEqual([s.at(5000.5), s.at(5000), Number.isNaN(s.at(0))], [10000, 10000, true]);
      s.push(3, 1);
      assert.deepStrictEqual([s.length, s.value(0)], [1, 1]);
    },

    "ticks are round and few, also of ranges that are none"() {
      assert.deepStrictEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
      for (const [a, b] of [[0, 0], [NaN, 1], [0, Infinity], [1, 0], [1e300, 1.1e300]]) assert(ticks(a, b, 10).length <= 100);
    },

    "numbers that are missing or of another type become a dash"() {
      for (const f of [format.hz, format.age, format.bytes, format.megabytes, format.count, format.seconds]) for (const v of [undefined, null, "x", NaN, {}]) assert.strictEqual(f(v), "–");
      assert.deepStrictEqual([format.seconds(1234567890), format.age(1500), format.bytes(6291456), format.count(1234567)], ["1.234", "1.5 s", "6.29 MB", "1\u202f234\u202f567"]);
      assert.deepStrictEqual([-0.001, -0.01, 0, 12.345].map((v) => format.fixed(v, 2)), ["0.00", "-0.01", "0.00", "12.35"]);
      assert.deepStrictEqual([format.sum({ a: 1, b: "x" }), format.sum(null), format.reasons({ timeout: 2, token: 0 })], [1, 0, "timeout 2"]);
    },
  };
};
