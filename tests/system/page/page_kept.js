// SPDX-License-Identifier: Apache-2.0
// What the page withstands: markup in names, connections that end, a narrow window.
"use strict";

const MARKUP = "<img src=x onerror=injected=1>";
const VIEWS = ["overview", "image", "3d", "plot", "raw", "bridges", "log", "system"];

module.exports = ({ assert, json, text, number, is }) => {
  // Elements that the page does not make, and what they would have done.
  const injected = `[...document.querySelectorAll("img, script:not([src]), iframe, object, embed, [onerror]")].map((e) => e.outerHTML).concat("injected" in window ? ["it ran"] : [])`;
  const frames = (selector) => `Number(${is(selector, "dataset.frames")} ?? 0)`;

  // Elements that lie beyond the right edge, unless they are in what scrolls by intent; numbers that are cut off.
  function beyond() {
    const out = [];
    if (document.documentElement.scrollWidth > innerWidth) out.push(`the page is ${document.documentElement.scrollWidth} wide`);
    for (const e of document.body.querySelectorAll("*")) {
      const box = e.getBoundingClientRect();
      if (box.width === 0 || box.height === 0 || !e.checkVisibility()) continue;
      if (e.matches("input[type=number]") && e.scrollWidth > e.clientWidth) out.push(`${e.id} is too narrow for ${e.value}`);
      if (box.right <= innerWidth + 1) continue;
      let inside = e.parentElement;
      while (inside !== document.body && getComputedStyle(inside).overflowX === "visible") inside = inside.parentElement;
      if (!inside.matches("#tabs, .scroll, .table-scroll") && (inside === document.body || getComputedStyle(inside).overflowX !== "hidden")) out.push(`${e.tagName} ${e.id} ${e.className} to ${box.right}`);
    }
    return out;
  }

  // Sets window.wasLost when the page has lost its connection, even if it is back before the next frame.
  function watchState() {
    const html = document.documentElement, observed = { attributes: true, attributeOldValue: true, attributeFilter: ["data-state"] };
    window.wasLost = false;
    window.watcher?.disconnect();
    window.watcher = new MutationObserver((records) => {
      window.wasLost ||= html.dataset.state !== "connected" || records.some((r) => r.oldValue !== "connected");
    });
    window.watcher.observe(html, observed);
  }

  return {
    async names_with_markup_are_shown_as_text(stack) {
      const page = await stack.open("#raw?topic=/text"), clean = async (where) => assert.deepStrictEqual(await page.evaluate(injected), [], where);
      await page.waitFor(`${text('li[data-path=".data"]')}.includes(${json(`${MARKUP}</script><script>injected=2</script>`)})`);
      await clean("raw, a string");
      await stack.picture(page, "markup");
      await stack.go(page, "#raw?topic=/imu");
      await page.waitFor(`${text('li[data-path=".header.frame_id"]')}.includes(${json(MARKUP)})`);
      await clean("raw, a frame");
      await stack.go(page, "#3d");
      await page.waitFor(`[...document.querySelector("#fixed-frame").options].some((o) => o.value === ${json(MARKUP)})`);
      await page.waitFor(`${frames("#view-3d")} > 5`);
      await clean("3d");
      await stack.go(page, "#bridges");
      const card = 'article[data-bridge="null"]';
      await page.waitFor(`${text(`${card} .detail`)} === ${json(MARKUP)} && ${is(`${card} input`, "value")} === ${json(MARKUP)}`);
      await clean("bridges");

      // what simd says of a mistake: the bridge's state, the log, and the sentence of a service that is refused
      await page.click('article[data-bridge="log"] input');
      await page.evaluate("document.activeElement.select()");
      await page.type(`/proc/none/${MARKUP}`);
      await page.key("Enter");
      await page.waitFor(`${text('article[data-bridge="log"] .detail')}.includes(${json(MARKUP)})`);
      await clean("bridges, a mistake");
      await stack.go(page, "#log");
      await page.waitFor(`${text("#log")}.includes(${json(`connect the bridge log to "/proc/none/${MARKUP}"`)})`);
      await page.waitFor(`/bridge log is unexpectedly-disconnected: .*<img src=x/.test(${text("#log")})`);
      await clean("log");

      // and what an address says
      for (const view of ["raw?topic=", "image?topic=", "overview?filter=", "log?filter=", "3d?frame=", "plot?s=/imu "]) {
        await stack.go(page, `#${view}${encodeURIComponent(MARKUP)}`);
        await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(0))))");
        await clean(view);
      }
      await stack.go(page, "#system");
      await page.waitFor(`${text("#info")}.includes("car")`);
      await clean("system");
      stack.fine(page);
    },

    async the_page_reconnects(stack) {
      const scene = await stack.open("#3d"), table = await stack.open("#overview");
      const pages = [scene, table];
      const flows = async () => {
        await Promise.all(pages.map((page) => page.waitFor("document.documentElement.dataset.state === 'connected'")));
        // what was there before stands still until the subscriptions are back
        const messages = number('tr[data-channel="/lidar"] [data-column="messages"]'), before = await table.evaluate(messages);
        await table.waitFor(`${messages} > 0 && ${messages} !== ${before} && ${is('tr[data-channel="/lidar"]', "dataset.live")} === "ok"`);
        await scene.waitFor(`${text('li[data-layer="/lidar"] .info')} === "1701 points"`);
        const drawn = await scene.evaluate(frames("#view-3d"));
        await scene.waitFor(`${frames("#view-3d")} > ${drawn + 3}`);
      };
      await flows();
      for (const what of ["the bridge", "simd"]) {
        await Promise.all(pages.map((page) => page.evaluate(watchState)));
        await stack.restart(what);
        await Promise.all(pages.map((page) => page.waitFor("window.wasLost")));
        await flows();
        await table.key("7");
        await table.waitFor(`/connected to .*connection lost/.test(${text("#log")})`); // the newest is on top
        await stack.picture(table, `back-${what.split(" ").pop()}`);
        await table.key("1");
      }
      // what could not be reached meanwhile, or was cut off by a kill, is in the console of the browser, whoever asks
      for (const page of pages) stack.fine(page, /WebSocket connection to .* failed|net::ERR_/);
    },

    async a_narrow_window_holds_every_view(stack) {
      const page = await stack.open("#overview", { size: [360, 640] });
      await page.waitFor("document.querySelectorAll('tr[data-channel]').length > 5");
      for (const scheme of ["dark", "light"]) {
        await page.view({ scheme });
        for (const [i, view] of VIEWS.entries()) {
          await page.evaluate("document.activeElement?.blur()");
          await page.key(String(i + 1));
          await page.waitFor(`document.documentElement.dataset.view === ${json(view)} && !document.querySelector("#view-${view}").hidden`);
          const shown = { overview: "tr[data-channel]", image: "#image[data-frames]", "3d": "#view-3d[data-frames]", raw: "#raw-topic option[value='/imu']",
                          bridges: 'article[data-status="connected"]', log: "#log tr", system: "#clients tbody tr" }[view];
          if (shown) await page.waitFor(`document.querySelector(${json(shown)})`);
          assert.deepStrictEqual(await page.evaluate(beyond), [], `${view}, ${scheme}`);
          await stack.picture(page, `narrow-${scheme}-${view}`);
        }
        const colours = await page.evaluate("['backgroundColor', 'color'].map((k) => getComputedStyle(document.body)[k].match(/[\\d.]+/g).map(Number)[1])");
        assert(scheme === "dark" ? colours[0] < 60 && colours[1] > 180 : colours[0] > 200 && colours[1] < 60, json(colours));
      }
      // whoever wants it otherwise than the machine says so
      await page.click("#theme");
      await page.waitFor(`${is("html", "dataset.theme")} === "dark" && getComputedStyle(document.body).backgroundColor === "rgb(20, 22, 26)"`);
      stack.fine(page);
    },
  };
};
