/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to write points, one by one: for pb_points.c, its test and its bench. */
#ifndef PB_POINTS_PRIVATE_H
#define PB_POINTS_PRIVATE_H

#include "pb_points.h"

#define PB_POINT_MAX 32u /* bytes of a point, and what a store may reach */

/*
 * Write points `from` to `to` - 1. tag: of the field. Returns the place behind them; stores reach PB_POINT_MAX bytes for each
 * point at most. *n grows by those that were written.
 */
typedef uint8_t *pb_points_way(uint8_t *at, uint8_t tag, const struct pb_points *p, uint32_t from, uint32_t to,
			       uint32_t *n);

pb_points_way pb_points_portable;
#if defined(__x86_64__)
pb_points_way pb_points_vbmi; /* needs pb_points_vbmi_usable(), and points that lie as struct sim_Point */
bool pb_points_vbmi_usable(void);
bool pb_points_vbmi_fits(const struct pb_points *p);
#endif

uint32_t pb_points_by(pb_points_way *way, struct pb_writer *w, uint32_t field, const struct pb_points *p);

#endif
