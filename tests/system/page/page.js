// SPDX-License-Identifier: Apache-2.0
// node page.js CASE,... URL TOKEN: cases of the page in one browser, whose start takes longer than a case, beside a whole stack that
// ../stack/test_page.c has started, and starts again for the next case. A case asks it in lines, "ask {...}", each answered by one line of
// JSON. What it has seen last is build/page/*.png.
"use strict";
const assert = require("assert");
const fs = require("fs");
const path = require("path");
const readline = require("readline");
const { start } = require("./browser.js");

const [names, url, token] = process.argv.slice(2);
const pictures = path.join(process.env.B || "build", "page");

const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function ask(what) {
  process.stdout.write(`ask ${JSON.stringify(what)}\n`);
  return JSON.parse((await answers.next()).value);
}

const json = JSON.stringify;

class Stack {
  constructor(browser) {
    Object.assign(this, { browser, pages: [] });
  }

  // hash: "#raw?topic=/imu"
  async open(hash, { size = [1280, 720], may = token, ...view } = {}) {
    const page = await this.browser.open(`${url}${may ? `?token=${may}` : ""}${hash}`, { width: size[0], height: size[1], scheme: "dark", ...view });
    this.pages.push(page);
    await page.waitFor("document.documentElement.dataset.state === 'connected'");
    return page;
  }

  // A view of an open page, as its address says.
  async go(page, hash) {
    await page.evaluate((to) => void (location.hash = to), hash);
    await page.waitFor(`document.documentElement.dataset.view === ${json(hash.slice(1).split("?")[0])}`);
  }

  // simd's reply to one of its methods
  call(method, args = {}) {
    return ask({ do: "call", method, args });
  }

  // Looks again until simd says so; the browser's deadline bounds it.
  async agrees(method, holds) {
    for (;;) {
      const reply = await this.call(method);
      if (reply && holds(reply)) return reply;
      assert(this.browser.devtools.left() > 0, `${method} never said that ${holds}: ${json(reply).slice(0, 600)}`);
    }
  }

  restart = (what) => ask({ do: `restart ${what}` });

  async picture(page, file) {
    fs.mkdirSync(pictures, { recursive: true });
    await page.screenshot(path.join(pictures, `${file}.png`));
  }

  // Nothing is in the console, nothing was refused by the policy of the page, nobody else was asked. allowed: errors that are none
  fine(page, allowed = /^$/) {
    assert.deepStrictEqual(page.errors.filter((e) => !allowed.test(e)), []);
    assert.deepStrictEqual(page.foreign(), []);
  }
}

// The text of an element, as an expression in the page; "" where there is none.
const text = (selector) => `(document.querySelector(${json(selector)})?.textContent ?? "")`;
// The same as a number, without what groups its digits.
const number = (selector) => `Number(${text(selector)}.replace(/[^-0-9.e]/g, ""))`;
const is = (selector, what) => `document.querySelector(${json(selector)})?.${what}`;

const tools = { assert, json, text, number, is, pictures };
const cases = Object.assign({}, ...["seen", "led", "kept"].map((file) => require(`./page_${file}.js`)(tools)));

async function run(browser, name) {
  const stack = new Stack(browser);
  try {
    await cases[name](stack);
    console.log(`${name}: ok`);
  } catch (e) {
    console.log(`${name}: ${e.stack}`);
    for (const page of stack.pages) console.log(`${page.url}: ${json({ errors: page.errors, console: page.console })}`);
    if (stack.pages.length) await stack.picture(stack.pages.at(-1), `failed-${name}`).catch(() => {});
    process.exitCode = 1;
  }
  for (const page of stack.pages) await page.close();
}

(async () => {
  const browser = await start(), list = names.split(",");
  for (const name of list) {
    assert(cases[name], `there is no case ${name}`);
    if (name !== list[0]) await ask({ do: "begin again" });
    await run(browser, name);
  }
  await browser.close();
  process.stdin.destroy();
})();
