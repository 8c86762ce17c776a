/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A condition on messages, as `echo --filter` takes it:
 *
 *     speed > 3 && !(mode == 1 || frame_id != 'base')     fields, by paths as in --field
 *     objects[0].position.x >= 2.5                         false where a message has no such element
 *     ranges < 0.5                                         of a whole array: true if any element meets it
 *     #objects > 0                                         number of elements, or of bytes of a string
 *     @sequence, @stamp (seconds), @frame                  from the message's header
 *     valid                                                a field alone: true if not 0 and not empty
 *
 * == != < <= > >=, && || ! and brackets, as in C; numbers, true and false, strings in ' or ". Strings compare by bytes.
 * Thread: the owner's.
 */
#ifndef SIMCTL_FILTER_H
#define SIMCTL_FILTER_H

#include <sim/introspect.h>
#include <sim/slot.h>

#define FILTER_NODES_MAX 64
#define FILTER_DEPTH_MAX 16  /* nesting of brackets and ! */
#define FILTER_TEXT_MAX  255 /* length of a string literal, bytes */

struct filter;

/*
 * Parses text for messages of that type; takes its own reference to type. -EINVAL, with the reason and the character's
 * position in why; -ENOMEM.
 */
int filter_create(const struct sim_type *type, const char *text, char why[512], struct filter **ret);
void filter_destroy(struct filter *f); /* NULL-safe */
/* Whether a message meets the condition. body: of the filter's type, at any alignment. */
bool filter_pass(const struct filter *f, const struct sim_slot *header, const void *body, size_t size);

#endif
