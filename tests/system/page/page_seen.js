// SPDX-License-Identifier: Apache-2.0
// What of the stack is seen: channels, clouds, objects, images, numbers. What is published is in ../stack/test_page.c.
"use strict";

const TAN = Math.tan((25 * Math.PI) / 180); // half of what the camera sees
const DISTANCE = 45; // of it

module.exports = ({ assert, json, text, number, is }) => {
  const cell = (channel, column) => `tr[data-channel="${channel}"] [data-column="${column}"]`;

  // Where what differs from the background is, right of the panel and above the line at the bottom.
  function lit(picture, background) {
    const box = { left: Infinity, right: -1, top: Infinity, bottom: -1, count: 0 };
    for (let y = 0; y < picture.height - 30; y++)
      for (let x = 330; x < picture.width; x++) {
        const at = picture.at(x, y);
        if (!background.some((v, i) => Math.abs(at[i] - v) > 12)) continue;
        Object.assign(box, { left: Math.min(box.left, x), right: Math.max(box.right, x), top: Math.min(box.top, y), bottom: Math.max(box.bottom, y) });
        box.count++;
      }
    return box;
  }

  // The same from above of what lies in base_link, which looks up in the picture: x ahead, y to the left, z high, each from and to.
  function expected(picture, x, y, z) {
    const scale = picture.height / 2 / TAN, at = (v, high) => (v * scale) / (DISTANCE - high);
    const all = (v) => v.flatMap((a) => z.map((high) => at(a, high)));
    const [w, h] = [picture.width / 2, picture.height / 2];
    return { left: w - Math.max(...all(y)), right: w - Math.min(...all(y)), top: h - Math.max(...all(x)), bottom: h - Math.min(...all(x)) };
  }

  function near(got, want) {
    for (const side of ["left", "right", "top", "bottom"]) assert(Math.abs(got[side] - want[side]) <= 4, `${json(got)} is not ${json(want)}`);
  }

  const background = (page) => page.evaluate(() => {
    const probe = document.body.appendChild(document.createElement("span"));
    probe.style.color = "var(--scene)";
    const colour = getComputedStyle(probe).color.match(/[\d.]+/g).map(Number);
    probe.remove();
    return colour;
  });

  // Some more frames, drawn from now on.
  async function drawn(page) {
    const frames = "Number(document.querySelector('#view-3d').dataset.frames)";
    await page.waitFor(`${frames} > ${(await page.evaluate(frames)) + 3}`);
  }

  const choose = (page, selector, value) => page.evaluate((to, what) => {
    const e = document.querySelector(to);
    e.value = what;
    e.dispatchEvent(new Event("change"));
  }, selector, value);

  const info = (topic) => text(`li[data-layer="${topic}"] .info`);
  const ticked = (topic) => `document.querySelector('input[data-layer="${topic}"]').checked`;

  async function tick(page, topic, on) {
    if ((await page.evaluate(ticked(topic))) !== on) await page.click(`input[data-layer="${topic}"]`);
    assert.strictEqual(await page.evaluate(ticked(topic)), on);
  }

  return {
    async the_overview_lists_the_channels(stack) {
      const page = await stack.open("#overview");
      const types = { "/lidar": "sim/PointCloud", "/camera": "sim/Image", "/objects": "sim/Detected3DObjects", "/imu": "sim/Imu", "/text": "sim/String" };
      for (const [channel, type] of Object.entries(types)) {
        await page.waitFor(`${text(cell(channel, "type"))} === ${json(type)} && ${number(cell(channel, "hz"))} > 1`);
        await page.waitFor(`${is(`tr[data-channel="${channel}"]`, "dataset.live")} === "ok"`);
      }
      const { channels } = await stack.call("ListChannels");
      const rows = await page.evaluate("[...document.querySelectorAll('tr[data-channel]')].map((r) => r.dataset.channel).sort()");
      assert.deepStrictEqual(rows, channels.map((c) => c.name).sort());
      const before = await page.evaluate(number(cell("/imu", "messages")));
      await page.waitFor(`${number(cell("/imu", "messages"))} > ${before}`);

      // what is refused while time stands is counted
      const dropped = await page.evaluate(number(cell("/imu", "drops"))); // by a bridge that got no processor
      await stack.call("PauseClock");
      await page.waitFor(`${number(cell("/imu", "drops"))} > ${dropped} && ${is(cell("/imu", "drops"), "classList.contains('bad')")}`);
      await page.waitFor(`/ drops$/.test(${text("#overview-total")}) && !/, 0 drops/.test(${text("#overview-total")})`);
      await page.waitFor(`${is('tr[data-channel="/imu"]', "dataset.live")} === "dim"`);
      assert.match(await page.evaluate(is(cell("/imu", "drops"), "title")), /paused/);
      await stack.call("ResumeClock");
      await page.waitFor(`${is('tr[data-channel="/imu"]', "dataset.live")} === "ok"`);

      await page.click('[data-sort="rate"]');
      await page.click('[data-sort="rate"]');
      await page.waitFor(`${is("#channels tbody tr", "dataset.channel")} === "/lidar"`);
      await stack.picture(page, "overview");
      await page.key("/");
      await page.type("imu");
      await page.waitFor(`document.querySelectorAll("#channels tbody tr").length === 1 && ${text("#overview-total")}.startsWith("1 of ")`);
      stack.fine(page);
    },

    async clouds_and_objects_are_at_their_positions(stack) {
      const page = await stack.open("#3d?grid=0&frames=0&ego=0&labels=0&colour=flat&size=3&hide=/objects");
      await page.waitFor(`${info("/lidar")} === "1701 points" && ${text("#scene-status")}.startsWith("map,")`);
      await page.key("t");
      await drawn(page);
      const dark = await background(page);
      let picture = await page.pixels("#scene");
      const wall = expected(picture, [11, 11], [-8, 8], [0, 2]);
      const seen = lit(picture, dark);
      near(seen, wall);
      const filled = seen.count / ((seen.right - seen.left) * (seen.bottom - seen.top));
      assert(filled > 0.4, `${filled} of it is filled`);

      // the left half returns much, the right half little
      for (const [selector, value] of [["#colour-by", "intensity"], ["#range-low", "0"], ["#range-high", "1"]]) await choose(page, selector, value);
      await drawn(page);
      picture = await page.pixels("#scene");
      const sum = [[0, 0, 0], [0, 0, 0]];
      for (let y = Math.ceil(wall.top); y < wall.bottom; y++)
        for (let x = Math.ceil(wall.left) + 4; x < wall.right - 4; x++) picture.at(x, y).slice(0, 3).forEach((v, i) => (sum[x < picture.width / 2 ? 0 : 1][i] += v));
      assert(sum[0][0] > 1.5 * sum[0][2] && sum[1][2] > sum[1][0], json(sum));

      // objects once: as they are, or by their markers if these are asked for
      await tick(page, "/lidar", false);
      assert.strictEqual(await page.evaluate(ticked("/objects/markers")), false);
      await drawn(page);
      assert.strictEqual(lit(await page.pixels("#scene"), dark).count, 0);
      await tick(page, "/objects", true);
      await page.waitFor(`${info("/objects")} === "1 objects"`);
      assert.strictEqual(await page.evaluate(ticked("/objects/markers")), false);
      await drawn(page);
      picture = await page.pixels("#scene");
      const car = expected(picture, [-12.25, -7.75], [-0.95, 0.95], [0, 1.5]);
      near(lit(picture, dark), car);
      await tick(page, "/objects/markers", true);
      await page.waitFor(`${info("/objects/markers")} === "2 markers"`);
      await tick(page, "/objects", false);
      assert.match(await page.evaluate("decodeURIComponent(location.hash)"), /show=\/objects\/markers/);
      await drawn(page);
      near(lit(await page.pixels("#scene"), dark), car);

      // all of it, for whoever wants to see it
      await stack.go(page, "#3d?colour=height");
      await page.key("r");
      await drawn(page);
      await stack.picture(page, "3d");
      stack.fine(page);
    },

    async an_image_has_its_colours(stack) {
      const page = await stack.open("#image?topic=/camera&exact=1");
      await page.waitFor(`Number(${is("#image", "dataset.frames")}) > 1`);
      assert.match(await page.evaluate(text("#image-info")), /^64 × 48 rgb8/);
      const picture = await page.pixels("#image");
      assert.deepStrictEqual([picture.width, picture.height], [64, 48]);
      const places = [[1, 1], [31, 23], [32, 1], [62, 23], [1, 24], [31, 46], [32, 24], [62, 46]];
      const [red, green, blue, white] = [[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255], [255, 255, 255, 255]];
      assert.deepStrictEqual(places.map((p) => picture.at(...p)), [red, red, green, green, blue, blue, white, white]);
      await page.click("#image");
      await page.waitFor(`${text("#image-pixel")} === "(32, 24): 255 255 255"`);
      await stack.picture(page, "image");
      stack.fine(page);
    },

    async a_plot_draws_the_samples(stack) {
      const page = await stack.open("#plot"), row = 'li[data-series="/imu linear_acceleration.x"]';
      await page.waitFor("[...document.querySelector('#plot-topic').options].some((o) => o.value === '/imu')");
      await choose(page, "#plot-topic", "/imu");
      assert(await page.evaluate("[...document.querySelectorAll('#plot-paths option')].some((o) => o.value === 'linear_acceleration.x')"));
      await page.click("#plot-path");
      await page.type("linear_acceleration.x");
      await page.key("Enter");
      await page.waitFor(`Number(${is(row, "dataset.samples")}) > 20`);
      const before = await page.evaluate(`Number(${is(row, "dataset.samples")})`);
      await page.waitFor(`Number(${is(row, "dataset.samples")}) > ${before}`);
      assert.strictEqual(await page.evaluate(text(`${row} .value`)), "1.5");
      const colour = await page.evaluate(`getComputedStyle(document.querySelector(${json(`${row} .swatch`)})).backgroundColor.match(/[\\d.]+/g).map(Number)`);
      const picture = await page.pixels("#plot");
      let drawn = 0;
      for (let x = 0; x < picture.width; x++)
        for (let y = 0; y < picture.height; y++) if (colour.every((v, i) => Math.abs(picture.at(x, y)[i] - v) < 40)) drawn++;
      assert(drawn > 10, `${drawn} pixels have the colour of the series`);
      await stack.picture(page, "plot");

      await page.evaluate(() => {
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => ((window.csv = blob), make(blob));
      });
      await page.click("#plot-csv");
      const [head, ...lines] = (await page.evaluate("csv.text()")).trim().split("\n");
      assert.strictEqual(head, 'time_s,"/imu linear_acceleration.x"');
      assert(lines.length > 20 && lines.every((line) => /^[\d.]+,1\.5$/.test(line)), lines[0]);
      const times = lines.map(parseFloat);
      assert(times.every((t, i) => i === 0 || t > times[i - 1]));
      stack.fine(page);
    },
  };
};
