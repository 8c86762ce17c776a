/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a data plane has its files. iceoryx 2.0.3 has fixed names for them, which allow one RouDi per machine. Hooks in
 * the module and in the library that simd preloads into RouDi (iox_plane.c) move them into a directory of each simd's
 * own:
 *
 *                    plain names               in directory DIR
 *   segments         /dev/shm/iceoryx_mgmt     DIR/iceoryx_mgmt
 *                    /dev/shm/<group>          DIR/payload
 *   sockets, locks   /tmp/<name>               DIR/<name>
 *
 * A plane is that directory; "" means the plain names, of a RouDi that simd has not started.
 *
 * Thread: any; no state.
 */
#ifndef BASE_PLANE_H
#define BASE_PLANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define PLANE_BASE   "/dev/shm"
#define PLANE_PREFIX "simd-" /* followed by PLANE_DIGITS hexadecimal digits */
#define PLANE_DIGITS 8
#define PLANE_OWNER  "simd"      /* a file in it: one line, the runtime directory of its simd */
#define PLANE_LOCK   "simd.lock" /* held by its simd; contains its pid */
/* Takes the place of a plane's directory: lock of the one simd that uses the RouDi of the plain names. */
#define PLANE_EXTERNAL PLANE_BASE "/simd-external"
#define PLANE_MGMT     "iceoryx_mgmt"
#define PLANE_ROUDI    "roudi"
/* Of the directory, with its NUL: short enough that a socket's path fits with the longest name of an application. */
#define PLANE_MAX      24
#define PLANE_PATH_MAX 128 /* of a file in it, with its NUL */
#define PLANE_VARIABLE "SIMD_DATA_PLANE"

/* The path of the file that iceoryx calls /tmp/<name>. False: too long for ret. */
static inline bool plane_file(const char *plane, const char *name, char *ret, size_t n)
{
	return snprintf(ret, n, "%s/%s", *plane ? plane : "/tmp", name) < (int)n;
}

/*
 * The path of a segment that iceoryx calls <name>: PLANE_MGMT, or, for the payload segment, the name of RouDi's group.
 */
static inline bool plane_memory(const char *plane, const char *name, char *ret, size_t n)
{
	name += *name == '/';
	if (!*plane)
		return snprintf(ret, n, PLANE_BASE "/%s", name) < (int)n;
	return snprintf(ret, n, "%s/%s", plane, strcmp(name, PLANE_MGMT) == 0 ? PLANE_MGMT : "payload") < (int)n;
}

#endif
