#version 450
/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the lens: looks up for each pixel its position in the picture without distortion. */
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(set = 0, binding = 1, std430) readonly buffer Table {
	vec2 table[];
};
layout(constant_id = 2) const int WIDTH = 1;

layout(location = 0) out vec4 out_colour;

void main()
{
	vec2 at = table[int(gl_FragCoord.y) * WIDTH + int(gl_FragCoord.x)];

	out_colour = textureLod(picture, (at + 0.5) / vec2(textureSize(picture, 0)), 0.0);
}
