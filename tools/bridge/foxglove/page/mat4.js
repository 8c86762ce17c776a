// SPDX-License-Identifier: Apache-2.0
// 4 by 4 matrices of doubles, column by column as WebGL wants them. Maps have coordinates of millions of metres: only
// the product with the camera is small enough for the 32 bits of a GPU.

export const identity = () => new Float64Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);

export function multiply(a, b, out = new Float64Array(16)) {
  for (let c = 0; c < 4; c++)
    for (let r = 0; r < 4; r++)
      out[c * 4 + r] =
        a[r] * b[c * 4] + a[4 + r] * b[c * 4 + 1] + a[8 + r] * b[c * 4 + 2] + a[12 + r] * b[c * 4 + 3];
  return out;
}

// Of a translation {x, y, z} and a rotation {x, y, z, w}, which need not be of length 1; one of length 0 is none.
export function fromPose(t, q) {
  const n = q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w;
  const s = n > 0 ? 2 / n : 0;
  const xx = q.x * q.x * s, yy = q.y * q.y * s, zz = q.z * q.z * s;
  const xy = q.x * q.y * s, xz = q.x * q.z * s, yz = q.y * q.z * s;
  const wx = q.w * q.x * s, wy = q.w * q.y * s, wz = q.w * q.z * s;
  return new Float64Array([
    1 - yy - zz, xy + wz, xz - wy, 0,
    xy - wz, 1 - xx - zz, yz + wx, 0,
    xz + wy, yz - wx, 1 - xx - yy, 0,
    t.x, t.y, t.z, 1,
  ]);
}

// Of a rotation and a translation, which is what poses are.
export function invertRigid(m, out = new Float64Array(16)) {
  const [x, y, z] = [m[12], m[13], m[14]];
  out.set([m[0], m[4], m[8], 0, m[1], m[5], m[9], 0, m[2], m[6], m[10], 0]);
  out[12] = -(m[0] * x + m[1] * y + m[2] * z);
  out[13] = -(m[4] * x + m[5] * y + m[6] * z);
  out[14] = -(m[8] * x + m[9] * y + m[10] * z);
  out[15] = 1;
  return out;
}

export const translation = (x, y, z) => new Float64Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, y, z, 1]);
export const scaling = (x, y, z) => new Float64Array([x, 0, 0, 0, 0, y, 0, 0, 0, 0, z, 0, 0, 0, 0, 1]);

export function perspective(fovY, aspect, near, far) {
  const f = 1 / Math.tan(fovY / 2);
  const d = 1 / (near - far);
  return new Float64Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (near + far) * d, -1, 0, 0, 2 * near * far * d, 0]);
}

export function transform(m, x, y, z) {
  return [
    m[0] * x + m[4] * y + m[8] * z + m[12],
    m[1] * x + m[5] * y + m[9] * z + m[13],
    m[2] * x + m[6] * y + m[10] * z + m[14],
  ];
}
