#version 450
/* SPDX-License-Identifier: Apache-2.0 */
/* Projects a thing onto the plane it stands on, away from the sun; in another thing's shadow straight down. */
#extension GL_GOOGLE_include_directive : require
#include "../materials.h"
#include "frame.glsl"
#include "place.glsl"

layout(location = 0) out vec3 out_at;
layout(location = 1) flat out float out_rest;

void main()
{
	vec3 at = placed();
	vec3 sun = (in_tag.w & IN_SHADE) != 0u ? vec3(0, 0, 1) : frame.sun.xyz;
	float up = at.z - in_place.z;

	at.xy -= sun.xy / max(sun.z, 0.05) * up;
	at.z = in_place.z + 0.012;
	out_at = at;
	out_rest = (in_tag.w & IN_SHADE) != 0u ? 0.75 : 1.0 - 0.85 * frame.sun.w;
	gl_Position = frame.clip * vec4(at, 1.0);
}
