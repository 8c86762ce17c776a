#version 450
/* SPDX-License-Identifier: Apache-2.0 */
/* Lighting is computed per vertex, as all faces are flat. */
#extension GL_GOOGLE_include_directive : require
#include "../materials.h"
#include "frame.glsl"
#include "place.glsl"

layout(location = 0) out vec3 out_light;
layout(location = 1) out vec3 out_at;
layout(location = 2) out vec3 out_local; /* facades: metres in the box */
layout(location = 3) flat out uint out_material;
layout(location = 4) flat out uvec2 out_tag; /* a number that differs, what is lit */
layout(location = 5) flat out vec3 out_extent;

const vec3 COLOURS[MAT_COUNT] = vec3[](
	vec3(0.5), vec3(0.025, 0.032, 0.038), vec3(0.018), vec3(0.75, 0.76, 0.72), vec3(0.28, 0.012, 0.012), vec3(0.03),
	vec3(0.48, 0.29, 0.20), vec3(0.05, 0.07, 0.13), vec3(0.35, 0.36, 0.38), vec3(0.72, 0.72, 0.70),
	vec3(0.10, 0.008, 0.006), vec3(0.10, 0.055, 0.005), vec3(0.006, 0.07, 0.02),
	vec3(0.5), vec3(0.17, 0.14, 0.13), vec3(0.16, 0.17, 0.17),
	vec3(0.085, 0.14, 0.045), vec3(0.075, 0.076, 0.08), vec3(0.27, 0.26, 0.245), vec3(0.17, 0.07, 0.055),
	vec3(0.66, 0.66, 0.64), vec3(0.36, 0.355, 0.34));

vec3 emitted(uint material, uint lit)
{
	switch (material) {
	case MAT_LAMP_RED:
		return (lit & LIT_RED) != 0u ? vec3(4.0, 0.10, 0.06) : vec3(0);
	case MAT_LAMP_YELLOW:
		return (lit & LIT_YELLOW) != 0u ? vec3(4.0, 1.0, 0.04) : vec3(0);
	case MAT_LAMP_GREEN:
		return (lit & LIT_GREEN) != 0u ? vec3(0.10, 3.2, 0.9) : vec3(0);
	case MAT_TAILLAMP:
		return (lit & LIT_BRAKE) != 0u ? vec3(3.5, 0.05, 0.03) : (lit & LIT_NIGHT) != 0u ? vec3(0.7, 0.01, 0.01) : vec3(0);
	case MAT_HEADLAMP:
		return (lit & LIT_NIGHT) != 0u ? vec3(4.0, 3.8, 3.2) : vec3(0);
	}
	return vec3(0);
}

/* What a smooth surface mirrors of the sky, more at a flat angle (Schlick). */
vec3 mirrored(vec3 normal, vec3 to_eye)
{
	vec3 r = reflect(-to_eye, normal);
	float f = 0.06 + 0.94 * pow(1.0 - max(dot(normal, to_eye), 0.0), 5.0);
	vec3 sky = r.z > 0.0 ? mix(frame.horizon.rgb, frame.zenith.rgb, sqrt(r.z)) : 0.35 * frame.horizon.rgb;
	float glint = pow(max(dot(r, frame.sun.xyz), 0.0), 60.0);

	return f * (sky + 6.0 * glint * frame.sun_light.rgb);
}

void main()
{
	vec3 at = placed();
	vec3 normal = normalize(turned(in_normal.xyz / in_extent.xyz));
	vec3 to_eye = normalize(-at);
	vec3 colour = COLOURS[in_material];
	float sun = max(dot(normal, frame.sun.xyz), 0.0);

	if (in_material == MAT_PAINT || in_material == MAT_FACADE)
		colour = unpackUnorm4x8(in_tag.x).rgb;
	if ((in_tag.w & IN_SHADE) != 0u)
		sun *= 1.0 - frame.sun.w;
	/* the sky from above, and what the ground gives back from below */
	out_light = colour * (frame.sun_light.rgb * sun + frame.ambient.rgb * (0.70 + 0.30 * normal.z));
	if (in_material == MAT_GLASS || (in_material == MAT_PAINT && in_tag.z != LABEL_PERSON && in_tag.z != LABEL_BICYCLE))
		out_light += mirrored(normal, to_eye) * (in_material == MAT_GLASS ? 1.0 : 0.45);
	out_light += emitted(in_material, in_tag.w);
	out_at = at;
	out_local = in_at * in_extent.xyz;
	out_material = in_material | uint(abs(in_normal.x) > 0.5) << 8;
	out_tag = uvec2(in_tag.y, in_tag.w);
	out_extent = in_extent.xyz;
	gl_Position = frame.clip * vec4(at, 1.0);
}
