/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of a caller that state their own size, so that they can grow: a program compiled with older headers passes a
 * shorter one, with newer headers a longer one. The first member is the size, a size_t. Pure functions: any thread.
 */
#ifndef BASE_SIZED_H
#define BASE_SIZED_H

#include <stddef.h>

#define SIZED_MAX 4096u /* bytes of any such struct */

/*
 * Copies *given to *own, whose size it sets. Members that a shorter struct lacks are set to 0; members that a longer
 * one has and this library does not know must be 0. given NULL: all members are 0. The text names the struct in errors:
 * "channel /a: options".
 * Errors, with a sentence: -EINVAL no version of the struct has that size; -E2BIG it sets a member that is not known
 * here.
 */
#define SIZED_TAKE(own, given, ...) sized_take(own, sizeof(*(own)), given, __VA_ARGS__)
int sized_take(void *own, size_t size, const void *given, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
