/* SPDX-License-Identifier: Apache-2.0 */
/* What the apollo_*.c files share: one mapping a function. */
#ifndef APOLLO_PRIVATE_H
#define APOLLO_PRIVATE_H

#include <errno.h>

#include "apollo.h"
#include "apollo_frames.h"
#include "pb_reader.h"
#include "pb_writer.h"

struct apollo_out { /* a message on its way out */
	const struct apollo_message *in;
	const struct apollo_options *options;
	struct pb_writer w;
	enum apollo_release release;
	char *why;
	size_t why_size;
};

struct apollo_in { /* one on its way in */
	const struct apollo_limits *limits;
	const void *data;
	size_t len;
	enum apollo_release release;
	int error; /* of the reader */
	void *body;
	size_t room, size;
	char *why;
	size_t why_size;
};

/* clang-format off */
/* X(type of ours, function, Apollo's name, Apollo's channel or NULL); the first of a type is its default. */
#define APOLLO_OUT(X) \
	X(Clock, clock, "apollo.cyber.proto.Clock", "/clock") \
	X(Image, image, "apollo.drivers.Image", NULL) \
	X(CompressedImage, compressed_image, "apollo.drivers.CompressedImage", NULL)

/* X(Apollo's name, function, type of ours, Apollo's channel or NULL) */
#define APOLLO_IN(X) \
	X("apollo.control.ControlCommand", control, VehicleControl, "/apollo/control") \
	X("apollo.control.ControlCommand", gear, GearCommand, "/apollo/control") \
	X("apollo.control.ControlCommand", turn, TurnCommand, "/apollo/control") \
	X("apollo.control.ControlCommand", hazard, HazardCommand, "/apollo/control") \
	X("apollo.control.ControlCommand", state, VehicleState, "/apollo/control")
/* clang-format on */

#define X(T, f, name, channel) int apollo_out_##f(struct apollo_out *o);
APOLLO_OUT(X)
#undef X
#define X(name, f, T, channel) int apollo_in_##f(struct apollo_in *d);
APOLLO_IN(X)
#undef X

/* const struct sim_T *m = APOLLO_BODY(o, T): the message, or -EBADMSG is returned */
#define APOLLO_BODY(o, T) \
	sim_##T##_from((o)->in->body, (o)->in->size); \
	if (!m) \
	return apollo_no_body(o, "sim/" #T)

int apollo_no_body(struct apollo_out *o, const char *type);
/* The sentence of an error, which it returns. */
__attribute__((format(printf, 3, 4))) int apollo_refuse(struct apollo_out *o, int error, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) int apollo_drop(struct apollo_in *d, int error, const char *fmt, ...);

/* The definitions that the message `name` needs. */
size_t apollo_files(enum apollo_release r, const char *name, struct iovec files[APOLLO_FILES_MAX]);

/* ---- what many messages have ---- */

#define APOLLO_LIDAR_TIMESTAMP  4u
#define APOLLO_CAMERA_TIMESTAMP 5u
#define APOLLO_RADAR_TIMESTAMP  6u

/* The header as field 1, or another; sensor: the field that has the stamp in ns besides, or 0. */
void apollo_header(struct apollo_out *o, uint32_t field, uint32_t sensor);
void apollo_header_framed(struct apollo_out *o, uint32_t field, uint32_t sensor, const char *frame, size_t len);
void apollo_text(struct apollo_out *o, uint32_t field, const char *s);
/* A string of the message, by its accessor. Its publisher may take the NUL away meanwhile: it ends with the body then. */
void apollo_body_text(struct apollo_out *o, uint32_t field, const char *s);
void apollo_frame_id(struct apollo_out *o, uint32_t field);
/* Point3D and PointENU; Quaternion */
void apollo_point(struct apollo_out *o, uint32_t field, const struct sim_Vector3 *v);
void apollo_quaternion(struct apollo_out *o, uint32_t field, const struct sim_Quaternion *q);

#endif
