/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of one camera's picture: struct frame of render_private.h. Axes of the map, relative to the eye. */
layout(set = 0, binding = 0, std140) uniform Frame {
	mat4 clip;
	vec4 eye;       /* from the streets' origin */
	vec4 sun;       /* direction to it; w: how much light a shadow takes away */
	vec4 sun_light;
	vec4 ambient;
	vec4 zenith;
	vec4 horizon;   /* w: haze, 1/m */
	vec4 ray, ray_x, ray_y; /* from the eye through pixel 0, 0, and by pixel */
} frame;
