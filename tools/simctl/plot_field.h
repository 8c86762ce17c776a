/* SPDX-License-Identifier: Apache-2.0 */
/* CHANNEL.FIELD of `plot`: where a text is taken apart, what of a type is a number. Asks nobody. Thread: any. */
#ifndef SIMCTL_PLOT_FIELD_H
#define SIMCTL_PLOT_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include <sim/introspect.h>
#include <sim/slot.h>

/*
 * The nth way to take it apart, the one with the longest channel first (nth 0): names of channels may have dots. False: there are no more.
 * field: the part of text behind the dot.
 */
bool plot_split(const char *text, unsigned nth, char channel[SIM_CHANNEL_MAX + 1], const char **field);

/* -EINVAL, with a sentence in why: the type has no such field, or it is no number. */
int plot_field_find(const struct sim_type *type, const char *field, char why[512], struct sim_field_path *ret);
/* Of the field, or of what it is a part of; "": none. */
const char *plot_field_unit(const struct sim_field_path *path);
/* "a, b.x, c[0]": what of the type is a number, as far as there is room. */
void plot_field_list(const struct sim_type *type, char *ret, size_t size);

#endif
