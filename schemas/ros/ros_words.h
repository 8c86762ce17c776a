/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a ROS definition that a type of ours does not keep, so that the definition can be written again with the same sum: `byte` and `char`, which are uint8
 * here, and constants of ROS 1 that are not in our form (0x10, 0.1, "quoted"). It stands in the comment of the type, which travels with it and is no
 * part of its hash, one word for each field or constant:
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

#define ROS_WORDS_VALUE_MAX 600u /* a quoted text of which all is escaped */

struct ros_words {
	const char *word;                /* "byte" or "char"; "": that of our kind */
	char value[ROS_WORDS_VALUE_MAX]; /* of a constant, as ROS 1 has it; "": ours */
};

/* Whether the comment of the type is of that form. */
bool ros_words_has(const struct sim_type *t);

/* The words of a field or constant; "" if the comment has none for it, or malformed ones. */
void ros_words_find(const struct sim_type *t, const char *name, struct ros_words *ret);

/*
 * Write such a comment, "# ROS: ..." and an empty line, for a definition in canonical form (rosdef_text()), up to its end or a line of "="; nothing where there is
 * nothing to say. values: also of constants.
 */
void ros_words_put(FILE *f, const char *text, bool values);

#endif
