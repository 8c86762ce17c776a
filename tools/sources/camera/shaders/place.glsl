/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms a vertex of an instance from the unit box to its position relative to the eye. */
layout(location = 0) in vec3 in_at;
layout(location = 1) in vec4 in_normal;
layout(location = 2) in uint in_material;
layout(location = 3) in vec4 in_place;  /* foot, and the yaw's cosine */
layout(location = 4) in vec4 in_extent; /* of the box, and the yaw's sine */
layout(location = 5) in uvec4 in_tag;   /* colour, id, label, what is lit */

vec3 turned(vec3 v)
{
	return vec3(in_place.w * v.x - in_extent.w * v.y, in_extent.w * v.x + in_place.w * v.y, v.z);
}

vec3 placed()
{
	return in_place.xyz + turned(in_at * in_extent.xyz);
}
