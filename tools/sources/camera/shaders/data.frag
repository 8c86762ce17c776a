#version 450
/* SPDX-License-Identifier: Apache-2.0 */
/* Depth: metres along the optical axis, as the bits of a float. */
#extension GL_GOOGLE_include_directive : require
#include "../materials.h"

layout(constant_id = 1) const int KIND = KIND_DEPTH;

layout(location = 0) flat in uint in_value;
layout(location = 0) out uint out_value;

void main()
{
	out_value = KIND == KIND_DEPTH ? floatBitsToUint(1.0 / gl_FragCoord.w) : in_value;
}
