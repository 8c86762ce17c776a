// SPDX-License-Identifier: Apache-2.0
// Colour maps as tables of 256 RGBA values, and colours of series.

// Coefficients of Google's Turbo as a polynomial of degree 5, and of viridis of degree 6.
const TURBO = [
  [0.13572138, 4.6153926, -42.66032258, 132.13108234, -152.94239396, 59.28637943],
  [0.09140261, 2.19418839, 4.84296658, -14.18503333, 4.27729857, 2.82956604],
  [0.1066733, 12.64194608, -60.58204836, 110.36276771, -89.90310912, 27.34824973],
];
const VIRIDIS = [
  [0.27772733, 0.10509304, -0.33086183, -4.63423049, 6.22826999, 4.77638495, -5.43545586],
  [0.00540734, 1.40461353, 0.2148476, -5.79910097, 14.17993337, -13.74514538, 4.64585261],
  [0.33409981, 1.3845902, 0.09509516, -19.33244096, 56.69055261, -65.35303263, 26.31243525],
];

const horner = (c, x) => c.reduceRight((sum, k) => sum * x + k, 0);

function table(colour) {
  const out = new Uint8ClampedArray(256 * 4);
  for (let i = 0; i < 256; i++) out.set([...colour(i / 255), 255], i * 4);
  return out;
}

export const MAPS = {
  turbo: table((x) => TURBO.map((c) => 255 * horner(c, x))),
  viridis: table((x) => VIRIDIS.map((c) => 255 * horner(c, x))),
  gray: table((x) => [255 * x, 255 * x, 255 * x]),
};

// Place of a value in a table: 0 .. 255; what is not a number has none: -1.
export function indexOf(value, low, high) {
  if (Number.isNaN(value)) return -1;
  const x = high > low ? (value - low) / (high - low) : 0.5;
  return x <= 0 ? 0 : x >= 1 ? 255 : Math.round(x * 255);
}

// Distinct on dark and light ground, and for most colour-blind eyes (after Okabe and Ito).
export const SERIES = ["#e69f00", "#56b4e9", "#009e73", "#d55e00", "#cc79a7", "#0072b2", "#b8a800", "#8c8c8c"];
