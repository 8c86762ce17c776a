/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CHANNEL.FIELD arguments of `plot`: splits the text, and finds the numeric fields of a type. Does no I/O. Thread: any.
 */
#ifndef SIMCTL_PLOT_FIELD_H
#define SIMCTL_PLOT_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include <sim/introspect.h>
#include <sim/slot.h>

/*
 * Splits text at its nth dot from the right, as names of channels may hold dots; nth 0 gives the longest channel name.
 * field: the rest of text after that dot. False: no such split.
 */
bool plot_split(const char *text, unsigned nth, char channel[SIM_CHANNEL_MAX + 1], const char **field);

/* -EINVAL, with the reason in why: the type has no such field, or the field is not a number. */
int plot_field_find(const struct sim_type *type, const char *field, char why[512], struct sim_field_path *ret);
/* Unit of the field, or of the field it is an element of; "": no unit. */
const char *plot_field_unit(const struct sim_field_path *path);
/* Lists the numeric fields of the type, "a, b.x, c[0]", as far as ret has room. */
void plot_field_list(const struct sim_type *type, char *ret, size_t size);

#endif
