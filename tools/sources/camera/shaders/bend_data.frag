#version 450
/* SPDX-License-Identifier: Apache-2.0 */
/* Like bend_colour.frag, but takes the nearest value, as ids must not be interpolated. */
layout(set = 0, binding = 0) uniform usampler2D picture;
layout(set = 0, binding = 1, std430) readonly buffer Table {
	vec2 table[];
};
layout(constant_id = 2) const int WIDTH = 1;

layout(location = 0) out uint out_value;

void main()
{
	vec2 at = table[int(gl_FragCoord.y) * WIDTH + int(gl_FragCoord.x)];
	ivec2 last = textureSize(picture, 0) - 1;

	out_value = texelFetch(picture, clamp(ivec2(floor(at + 0.5)), ivec2(0), last), 0).r;
}
