// SPDX-License-Identifier: Apache-2.0
// What is changed from the page, by whom: the clock, and bridges. simd must agree.
"use strict";

module.exports = ({ assert, json, text, number, is }) => {
  const state = (word) => `${text("#clock-state")} === ${json(word)}`;
  const card = (bridge, rest) => `article[data-bridge="${bridge}"] ${rest}`;

  // Whatever is in a field gives way to this.
  async function enter(page, selector, value) {
    await page.click(selector);
    await page.evaluate(`document.querySelector(${json(selector)}).select()`);
    await page.type(value);
  }

  return {
    async with_the_token_the_clock_can_be_controlled(stack) {
      const page = await stack.open("#overview");
      await page.waitFor(`${is("html", "dataset.control")} === "true" && ${state("running")}`);
      assert.strictEqual(await page.evaluate(is("#clock-step", "disabled")), true); // time runs
      await page.waitFor("!document.querySelector('#clock-pause').disabled");
      await page.click("#clock-pause");
      await page.waitFor(state("paused"));
      let { clock } = await stack.call("GetClock");
      assert.strictEqual(clock.paused, true);

      await enter(page, "#clock-step-ms", "250");
      await page.click("#clock-step");
      const stepped = await stack.agrees("GetClock", (r) => r.clock.sim_ns > 0 && r.clock.steps > 0 && !r.clock.stepping);
      assert.strictEqual(stepped.clock.sim_ns, clock.sim_ns + 250e6);
      assert.strictEqual(stepped.clock.paused, true);
      await page.waitFor(`${is("#clock-time", "dataset.ns")} === ${json(String(stepped.clock.sim_ns))}`);
      await page.evaluate("document.activeElement.blur()");
      await page.waitFor("!document.querySelector('#clock-step').disabled");
      await page.key("n");
      await page.waitFor(`${is("#clock-time", "dataset.ns")} === ${json(String(stepped.clock.sim_ns + 250e6))}`);
      await stack.picture(page, "paused");

      await page.key(" ");
      await page.waitFor(state("running"));
      ({ clock } = await stack.call("GetClock"));
      assert.strictEqual(clock.paused, false);
      await enter(page, "#clock-scale", "0.5");
      await page.key("Enter");
      await stack.agrees("GetClock", (r) => r.clock.scale === 0.5);
      await enter(page, "#clock-scale", "1000");
      await page.key("Enter");
      await page.waitFor(`/the scale is 0.01 to 100/.test(${text("#toast")}) && !document.querySelector("#toast").hidden`);
      assert.strictEqual((await stack.call("GetClock")).clock.scale, 0.5);
      stack.fine(page);
    },

    async without_the_token_access_is_read_only(stack) {
      const page = await stack.open("#bridges", { may: "" });
      await page.waitFor(`${is("html", "dataset.control")} === "false" && ${state("running")}`);
      await page.waitFor(`${is(card("null", "").trim(), "dataset.status")} === "connected"`);
      const off = ["#clock-pause", "#clock-step", "#clock-step-ms", "#clock-scale", card("null", '[data-action="restart"]'), card("null", '[data-action="connect"]')];
      for (const control of off) {
        assert.strictEqual(await page.evaluate(is(control, "disabled")), true, control);
        assert.match(await page.evaluate(is(control, "title")), /not allowed/, control);
      }
      assert.strictEqual(await page.evaluate(is(card("null", "input"), "readOnly")), true);
      assert.strictEqual(await page.evaluate(is("#control-note", "hidden")), false);
      await page.key(" ");
      await page.waitFor(`/not allowed/.test(${text("#toast")})`);
      // nor by a call of its own: the server knows
      const refused = await page.evaluate(() => new Promise((resolve) => {
        const ws = new WebSocket(location.origin.replace("http", "ws"), ["foxglove.sdk.v1"]);
        const head = new DataView(new ArrayBuffer(19));
        [2, 1, 1].forEach((v, i) => (i ? head.setUint32(i * 4 - 3, v, true) : head.setUint8(0, v)));
        head.setUint32(9, 4, true);
        new Uint8Array(head.buffer).set(new TextEncoder().encode("json{}"), 13);
        ws.onopen = () => ws.send(head.buffer);
        ws.onmessage = (m) => typeof m.data === "string" && /read-only/.test(m.data) && resolve(m.data);
      }));
      assert.match(refused, /this connection is read-only/);
      const { clock } = await stack.call("GetClock");
      assert.deepStrictEqual([clock.paused, clock.scale], [false, 1]);
      stack.fine(page);
    },

    async a_bridge_connection_can_be_changed(stack) {
      const page = await stack.open("#bridges");
      for (const bridge of ["web", "null", "log"]) await page.waitFor(`${is(`article[data-bridge="${bridge}"]`, "dataset.status")} === "connected"`);
      await page.waitFor(`${number(card("null", '[data-counter="sent"]'))} > 10`);
      await enter(page, card("log", "input"), "/tmp/elsewhere");
      await page.click(card("log", '[data-action="connect"]'));
      const of = (r, name) => r.bridges.find((b) => b.name === name);
      await stack.agrees("ListBridges", (r) => r.bridges.some((b) => b.name === "log" && b.connection === "/tmp/elsewhere" && b.status === "connected"));
      await page.waitFor(`${text(card("log", ".detail"))}.includes("/tmp/elsewhere") && ${is('article[data-bridge="log"]', "dataset.status")} === "connected"`);
      await page.waitFor(`${number(card("log", '[data-counter="sent"]'))} > 10`);

      const before = of(await stack.call("ListBridges"), "null");
      await page.click(card("null", '[data-action="restart"]'));
      await stack.agrees("ListBridges", (r) => r.bridges.some((b) => b.name === "null" && b.restarts > 0 && b.status === "connected"));
      assert.notStrictEqual(of(await stack.call("ListBridges"), "null").pid, before.pid);
      await page.waitFor(`${number(card("null", '[data-counter="restarts"]'))} > 0`);

      // where it cannot write: the reason is shown
      await enter(page, card("log", "input"), "/proc/none/here");
      await page.key("Enter");
      await page.waitFor(`${is('article[data-bridge="log"]', "dataset.status")} !== "connected" && ${text(card("log", ".detail"))}.includes("/proc/none/here")`);
      await stack.picture(page, "bridges");
      await page.key("Escape");
      await page.key("7");
      await page.waitFor(`/bridge log is unexpectedly-disconnected: .*none.here/.test(${text("#log")})`);
      stack.fine(page);
    },
  };
};
