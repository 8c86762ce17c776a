// SPDX-License-Identifier: Apache-2.0
// node page_fps.js URL RUNS SECONDS: frames a second of the 3-D view there, RUNS lines of two numbers: while somebody turns it, and while nobody does.
"use strict";
const { start } = require("../system/page/browser.js");

const [url, runs, seconds] = process.argv.slice(2);

// Resolves to frames a second; turn: a drag that moves once a frame of the browser.
async function count(ms, turn) {
  const view = document.querySelector("#view-3d"), canvas = view.querySelector("canvas");
  const frames = () => Number(view.dataset.frames), from = frames(), begun = performance.now();
  const point = (type, x) => canvas.dispatchEvent(new PointerEvent(type, { pointerId: 1, button: 0, buttons: 1, clientX: x, clientY: 300, bubbles: true }));
  if (turn) point("pointerdown", 400);
  for (let n = 0; performance.now() - begun < ms; n++) {
    await new Promise(requestAnimationFrame);
    if (turn) point("pointermove", 400 + 100 * Math.sin(n / 20));
  }
  if (turn) point("pointerup", 400);
  return ((frames() - from) * 1000) / (performance.now() - begun);
}

(async () => {
  const browser = await start({ seconds: 60 + 2.5 * runs * seconds });
  const page = await browser.open(url + "#3d?frame=lidar", { width: 1280, height: 720 });
  await page.waitFor(`document.querySelector('li[data-layer="/watch/cloud"]') && /[0-9] … [0-9]/.test(document.querySelector("#scene-status").textContent)`);
  for (let i = 0; i < runs; i++) {
    const turned = await page.evaluate(count, seconds * 1000, true), still = await page.evaluate(count, seconds * 1000, false);
    console.log(turned.toFixed(3), still.toFixed(3));
  }
  if (page.errors.length) throw new Error(page.errors[0]);
  await browser.close();
})().catch((e) => {
  console.error(`bench: the page: ${e.message}`);
  process.exit(1);
});
