#version 450
/* SPDX-License-Identifier: Apache-2.0 */
/* One variant per group, so that no pixel pays for the others: a driver on the CPU runs both sides of an if. */
#extension GL_GOOGLE_include_directive : require
#include "../materials.h"
#include "frame.glsl"

layout(constant_id = 0) const int GROUP = GROUP_THINGS;

layout(location = 0) in vec3 in_light;
layout(location = 1) in vec3 in_at;
layout(location = 2) in vec3 in_local;
layout(location = 3) flat in uint in_material;
layout(location = 4) flat in uvec2 in_tag;
layout(location = 5) flat in vec3 in_extent;
layout(location = 0) out vec4 out_colour;

float hash(uvec2 p)
{
	uint h = (p.x * 0x9E3779B1u) ^ (p.y * 0x85EBCA77u);

	h ^= h >> 15;
	h *= 0x2C1B3C6Du;
	h ^= h >> 13;
	return float(h & 0xFFFFu) / 65535.0;
}

float smooth_noise(vec2 p)
{
	vec2 i = floor(p), f = p - i;
	uvec2 u = uvec2(ivec2(i));

	f = f * f * (3.0 - 2.0 * f);
	return mix(mix(hash(u), hash(u + uvec2(1, 0)), f.x), mix(hash(u + uvec2(0, 1)), hash(u + uvec2(1, 1)), f.x), f.y);
}

vec3 ground(float far)
{
	vec2 p = in_at.xy + frame.eye.xy;
	uint m = in_material & 255u;
	bool grass = m == MAT_GRASS;
	float patches = smooth_noise(p * (grass ? 0.15 : 0.4)) - 0.5;
	/* grains smaller than a pixel would flicker */
	float grain = (hash(uvec2(ivec2(floor(p * 70.0)))) - 0.5) * clamp(1.0 - far / 9.0, 0.0, 1.0);
	float slab = 1.0;

	if (m == MAT_SIDEWALK) {
		vec2 f = abs(fract(p / 0.6) - 0.5);

		slab = 1.0 - 0.22 * smoothstep(0.47, 0.49, max(f.x, f.y)) * clamp(1.0 - far / 30.0, 0.0, 1.0);
	}
	if (m == MAT_POLE)
		return in_light;
	return in_light * slab * (1.0 + patches * (grass ? 0.6 : 0.22) + grain * (grass ? 0.7 : 0.45));
}

/* Windows in rows, a door's row below, a cornice above. */
vec3 facade(float far)
{
	bool across = (in_material & 256u) != 0u;
	float u = (across ? in_local.y : in_local.x) + 0.5 * (across ? in_extent.y : in_extent.x);
	float wide = across ? in_extent.y : in_extent.x, high = in_extent.z;
	float columns = max(floor(wide / 2.8), 1.0), storeys = max(floor(high / 3.2), 1.0);
	vec2 cell = vec2(u / wide * columns, in_local.z / high * storeys), f = fract(cell), blur;
	uvec2 number = uvec2(ivec2(floor(cell))) + in_tag.x * 17u + (across ? 7u : 0u);
	bool shop = cell.y < 1.0;
	vec2 low = shop ? vec2(0.10, 0.0) : vec2(0.28, 0.26), up = shop ? vec2(0.90, 0.74) : vec2(0.72, 0.80);
	float window, sill, seen = clamp(1.3 - far / 180.0, 0.0, 1.0);
	vec3 pane = mix(vec3(0.012, 0.016, 0.022), frame.zenith.rgb * 0.42, 0.10 + 0.45 * hash(number) * (1.2 - f.y));
	vec3 wall = in_light;

	blur = vec2(far * 0.0016) * vec2(columns / wide, storeys / high);
	window = smoothstep(low.x - blur.x, low.x + blur.x, f.x) * smoothstep(up.x + blur.x, up.x - blur.x, f.x) *
		 smoothstep(low.y - blur.y, low.y + blur.y, f.y) * smoothstep(up.y + blur.y, up.y - blur.y, f.y);
	sill = (1.0 - smoothstep(0.02, 0.05, abs(f.y - (shop ? 0.93 : 0.21)))) * seen;
	if ((in_tag.y & LIT_NIGHT) != 0u && hash(number + 91u) > 0.55)
		pane = vec3(1.0, 0.72, 0.36) * (0.5 + 0.5 * hash(number + 5u));
	wall *= 1.0 + 0.25 * sill;
	if (in_local.z > high - 0.5)
		wall *= 0.72;
	return (in_material & 255u) == MAT_ROOF ? in_light : mix(wall, pane, window);
}

void main()
{
	float far = length(in_at);
	vec3 c = GROUP == GROUP_GROUND ? ground(far) : GROUP == GROUP_FACADES ? facade(far) : in_light;
	float clear = exp2(-far * frame.horizon.w);

	/* bright light is pressed together as film does */
	c = mix(frame.horizon.rgb, c, clear);
	out_colour = vec4(1.0 - exp2(-1.9 * c), 1.0);
}
