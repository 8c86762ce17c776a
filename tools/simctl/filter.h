/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A condition on messages, as `echo --filter` takes it:
 *
 *     speed > 3 && !(mode == 1 || frame_id != 'base')     fields, by paths as in --field
 *     objects[0].position.x >= 2.5                         false where a message has no such element
 *     ranges < 0.5                                         of a whole array: true if it is of any element
 *     #objects > 0                                         how many elements, or bytes of a string
 *     @sequence, @stamp (seconds), @frame                  of the header
 *     valid                                                alone: not 0, not empty
 *
 * == != < <= > >=, && || ! and brackets, as in C; numbers, true and false, strings in ' or ". Strings compare by bytes.
 * Thread: the owner's.
 */
#ifndef SIMCTL_FILTER_H
#define SIMCTL_FILTER_H

#include <sim/introspect.h>
#include <sim/slot.h>

#define FILTER_NODES_MAX 64
#define FILTER_DEPTH_MAX 16  /* of brackets and ! */
#define FILTER_TEXT_MAX  255 /* bytes of a string */

struct filter;

/* Against that type, which is kept. -EINVAL, with a sentence in `why` that says at which character; -ENOMEM. */
int filter_create(const struct sim_type *type, const char *text, char why[512], struct filter **ret);
void filter_destroy(struct filter *f); /* NULL is fine */
/* Body of the type, at any address. */
bool filter_pass(const struct filter *f, const struct sim_slot *header, const void *body, size_t size);

#endif
