#version 450
/* SPDX-License-Identifier: Apache-2.0 */
/* A triangle that covers the picture at the greatest distance (depth 0). */
void main()
{
	gl_Position = vec4(float(gl_VertexIndex & 1) * 4.0 - 1.0, float(gl_VertexIndex >> 1) * 4.0 - 1.0, 0.0, 1.0);
}
