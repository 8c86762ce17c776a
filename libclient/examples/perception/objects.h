/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes as sim/Detected3DObjects, and back: shared by the components. Thread: the caller's. */
#ifndef PERCEPTION_OBJECTS_H
#define PERCEPTION_OBJECTS_H

#include <stddef.h>

#include <sim/component.h>
#include <sim/msg/Detected3DObjects.h>

#include "obstacle.h"

/* An outbound message, in its slot. */
struct objects_out {
	struct sim_slot *slot;
	struct sim_builder b;
	struct sim_Detected3DObject *objects; /* n of them, all zero */
};

/*
 * Creates the writer, with room for OBSTACLES_MAX. Returns the result of sim_node_writer_create(), with its sentence.
 */
int objects_advertise(struct sim_component *c, const char *channel, const char *frame, struct sim_node_writer **ret);
/* Loans room for n objects. As sim_node_loan(). */
int objects_begin(struct sim_node_writer *w, size_t n, struct objects_out *ret);
int objects_label(struct objects_out *o, size_t i, const char *label);
/* Writes the message, or, if r < 0, releases the slot. Returns r, or as sim_node_write(). */
int objects_end(struct sim_node_writer *w, struct objects_out *o, int r, int64_t stamp_sim_ns);

void objects_put_box(struct sim_Detected3DObject *d, const struct obstacle *o);
struct obstacle objects_get_box(const struct sim_Detected3DObject *d);
/* A rotation about z. */
struct sim_Quaternion objects_turn(double yaw);
double objects_yaw(const struct sim_Quaternion *q);

#endif
