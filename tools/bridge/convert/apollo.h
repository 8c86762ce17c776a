/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of Apollo's Cyber RT, in protobuf: which ones each bridge-agnostic type becomes and the other way round, and the
 * definitions that cyber_bridge wants before the first of them. What is turned on the way (axes, units, signs, times) is listed in
 * APOLLO.md. Pure functions of their arguments: any thread.
 */
#ifndef APOLLO_H
#define APOLLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "iov_buf.h"
#include "sim/introspect.h"

/* The two families of file names and fields. */
enum apollo_release {
	APOLLO_5,  /* 5.0 to 7.0: modules/common/proto/header.proto */
	APOLLO_10, /* from 8.0 on: modules/common_msgs/basic_msgs/header.proto */
};

/* Of "10.0", "10", "5.5", ... Leaves *ret alone and returns -EINVAL if that is no release from 5.0 to 10.0. */
int apollo_release_named(const char *name, enum apollo_release *ret);

struct apollo_type; /* a message of Apollo that one of our types becomes, or that becomes one of ours */

/* What sim_type ("sim/Image") becomes: wanted ("apollo.drivers.Image"), or NULL, the first. NULL: it does not. */
const struct apollo_type *apollo_type_for(enum apollo_release r, const char *sim_type, const char *wanted);
/* What may come in as name ("apollo.control.ControlCommand") and becomes sim_type, or NULL, the first. NULL: it may not. */
const struct apollo_type *apollo_type_named(enum apollo_release r, const char *name, const char *sim_type);
/* All of them, for the plug-in's list: i from 0 on; NULL: no more. in: those that come in. */
const struct apollo_type *apollo_type_at(enum apollo_release r, bool in, unsigned i);

const char *apollo_type_name(const struct apollo_type *t);
const struct sim_type *apollo_type_sim(const struct apollo_type *t); /* what it is made of, or becomes */
const char *apollo_type_channel(const struct apollo_type *t); /* Apollo's name for it; NULL: depends on the sensor */

#define APOLLO_FILES_MAX 64u
/* Its definitions, one FileDescriptorProto each, dependencies first, for ever. 0: cyber_bridge has them itself. */
size_t apollo_type_files(const struct apollo_type *t, struct iovec files[APOLLO_FILES_MAX]);

/* The same of any message of the definitions that are carried here, by its name. 0: they have none. */
size_t apollo_files(enum apollo_release r, const char *name, struct iovec files[APOLLO_FILES_MAX]);
/* As apollo_type_files(), also of those that cyber_bridge has: for logs. */
size_t apollo_type_all_files(const struct apollo_type *t, struct iovec files[APOLLO_FILES_MAX]);

/* ---- out ---- */

/* Options of a channel in the rig. Zeros: everything as it comes. */
struct apollo_options {
	const char *frame;   /* frame_id instead of the slot's; NULL: the slot's */
	const char *vehicle; /* vin of the Chassis; NULL: none */
	int utm_zone; /* 1..60 north, -1..-60 south: positions in it wherever the vehicle is; 0: that of each position */
	const double *
		origin; /* UTM easting, northing and altitude of the map's origin, for what is relative to it; or NULL */
	const char *const
		*rfu_frames; /* frames of Transforms whose axes are right, forward, up there; NULL-ended; or NULL */
	double undulation;   /* m: the geoid above the ellipsoid, for heights above the sea */
	bool is_static;      /* in: Transforms hold until the next ones, as those of /tf_static do */
};

struct apollo_message { /* one message; borrows all of it, body until the bytes are sent */
	const void *body;
	size_t size;
	int64_t stamp_sim_ns; /* capture, unix */
	uint32_t sequence;
	const char *frame_id; /* of the slot; "" for none */
	const struct apollo_options *options;
};

/*
 * Append the message to out. 0 or: -EBADMSG the body does not hold together, -ENOTSUP not such a one, -E2BIG, -ENOMEM; then why, if
 * it is not empty, has a sentence, and what was appended is void.
 */
int apollo_encode(const struct apollo_type *t, const struct apollo_message *in, struct iov_buf *out, char *why,
		  size_t why_size);

/* ---- in ---- */

struct apollo_limits { /* what a command must be */
	int64_t now_sim_ns;
	int64_t max_age_ns;  /* by its header's stamp, before or after now; 0: any */
	const char *vehicle; /* whose commands: another frame_id in the header is refused; NULL: anyone's */
};

/*
 * Read one message into ret->buf, as apollo_in_read() does, and a command within limits (NULL: any): -ERANGE also a number that a command must
 * not have, -ETIME too old or from a clock that is ahead, -EXDEV for another vehicle.
 */
struct message_in;
int apollo_decode(const struct apollo_type *t, const struct apollo_limits *l, const struct apollo_options *o,
		  const void *data, size_t len, struct message_in *ret, char *why, size_t why_size);

#endif
