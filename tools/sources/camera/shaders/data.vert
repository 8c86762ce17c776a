#version 450
/* SPDX-License-Identifier: Apache-2.0 */
/* Images of numbers: instance ids or class labels. */
#extension GL_GOOGLE_include_directive : require
#include "../materials.h"
#include "frame.glsl"
#include "place.glsl"

layout(constant_id = 1) const int KIND = KIND_DEPTH;

layout(location = 0) flat out uint out_value;

uint label_of(uint material)
{
	switch (material) {
	case MAT_GRASS:
		return LABEL_TERRAIN;
	case MAT_SIDEWALK:
	case MAT_KERB:
		return LABEL_SIDEWALK;
	case MAT_POLE:
		return LABEL_POLE;
	}
	return LABEL_ROAD;
}

void main()
{
	out_value = KIND == KIND_INSTANCE ? in_tag.y : in_tag.z == LABEL_OF_VERTEX ? label_of(in_material) : in_tag.z;
	if (KIND == KIND_INSTANCE && (in_tag.z == LABEL_OF_VERTEX || in_tag.z == LABEL_BUILDING || in_tag.z == LABEL_LIGHT))
		out_value = 0u;
	gl_Position = frame.clip * vec4(placed(), 1.0);
}
