/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Details of a ROS definition that a simd type does not keep, stored so that the definition can be written again with
 * the same sum: `byte` and `char`, which become uint8, and constants of ROS 1 that are not in simd's form (0x10, 0.1,
 * "quoted"). They are stored in the comment of the type, which travels with it and is not part of its hash, one word
 * for each field or constant:
 *
 *   ROS: level:byte OK:byte=0x10 RATE:=0.1 NAME:="a%20thing"
 *
 * Pure functions: any thread.
 */
#ifndef ROS_WORDS_H
#define ROS_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <sim/message.h>

#define ROS_WORDS_VALUE_MAX 600u /* a quoted text in which every character is escaped */

struct ros_words {
	const char *word;                /* "byte" or "char"; "": as in simd's type */
	char value[ROS_WORDS_VALUE_MAX]; /* of a constant, as in ROS 1; "": as in simd's type */
};

/* Whether the comment of the type has that form. */
bool ros_words_has(const struct sim_type *t);

/* The words of a field or constant; "" if the comment has none for it, or malformed ones. */
void ros_words_find(const struct sim_type *t, const char *name, struct ros_words *ret);

/*
 * Writes such a comment, "# ROS: ..." and an empty line, for a definition in canonical form (rosdef_text()), up to its
 * end or a line of "="; nothing if there are no such details. values: also for constants.
 */
void ros_words_put(FILE *f, const char *text, bool values);

#endif
