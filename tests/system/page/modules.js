// SPDX-License-Identifier: Apache-2.0
// node modules.js MODULES PAGE SCHEMAS: all cases of this folder; SEED=n repeats a randomised run.
"use strict";
const path = require("path");
const { createRequire } = require("module");
const { pathToFileURL } = require("url");

const [modules, page, schemas] = process.argv.slice(2);

// xorshift of 32 bits: the same numbers everywhere for a seed
function random(seed) {
  let x = seed >>> 0 || 1;
  const next = () => {
    x ^= x << 13;
    x >>>= 0;
    x ^= x >>> 17;
    x ^= x << 5;
    return (x >>>= 0);
  };
  return { next, below: (n) => next() % n, pick: (a) => a[next() % a.length] };
}

async function main() {
  const seed = Number(process.env.SEED) || (Date.now() % 1000000) + 1;
  const tools = {
    foreign: createRequire(path.resolve(modules, "index.js")),
    load: (name) => import(pathToFileURL(path.resolve(page, name)).href),
    schemas,
    random: random(seed),
  };
  let failed = 0, passed = 0;
  for (const file of ["case_cdr.js", "case_schema.js", "case_views.js", "case_link.js"]) {
    for (const [name, run] of Object.entries(await require(`./${file}`)(tools))) {
      try {
        await run();
        passed++;
      } catch (e) {
        failed++;
        console.log(`${file}: ${name}: ${e.stack}`);
      }
    }
  }
  console.log(`${passed} passed, ${failed} failed, SEED=${seed}`);
  process.exitCode = failed ? 1 : 0;
}

main();
