#version 450
/* SPDX-License-Identifier: Apache-2.0 */
#extension GL_GOOGLE_include_directive : require
#include "frame.glsl"

layout(location = 0) out vec4 out_colour;

void main()
{
	vec3 d = normalize(frame.ray.xyz + gl_FragCoord.x * frame.ray_x.xyz + gl_FragCoord.y * frame.ray_y.xyz);
	float to_sun = max(dot(d, frame.sun.xyz), 0.0);
	vec3 c = mix(frame.horizon.rgb, frame.zenith.rgb, sqrt(clamp(d.z, 0.0, 1.0)));

	c += frame.sun_light.rgb * (0.35 * pow(to_sun, 24.0) + 0.5 * pow(to_sun, 300.0) + 12.0 * smoothstep(0.99992, 0.99996, to_sun));
	out_colour = vec4(1.0 - exp2(-1.9 * c), 1.0);
}
