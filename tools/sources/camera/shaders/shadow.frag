#version 450
/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the light that is left; blending multiplies with it. */
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"

layout(location = 0) in vec3 in_at;
layout(location = 1) flat in float in_rest;
layout(location = 0) out vec4 out_colour;

void main()
{
	out_colour = vec4(vec3(mix(1.0, in_rest, exp2(-length(in_at) * frame.horizon.w))), 1.0);
}
