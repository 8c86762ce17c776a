/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of Apollo's Cyber RT, in protobuf: which of them each bridge-agnostic type becomes and vice versa, and the
 * definitions that cyber_bridge must receive before the first message. APOLLO.md lists what is converted (axes, units,
 * signs, times). Pure functions of their arguments: any thread.
 */
#ifndef APOLLO_H
#define APOLLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "iov_buf.h"
#include "sim/introspect.h"

/* The two families of file names and fields of the definitions. */
enum apollo_release {
	APOLLO_5,  /* 5.0 to 7.0: modules/common/proto/header.proto */
	APOLLO_10, /* from 8.0 on: modules/common_msgs/basic_msgs/header.proto */
};

/* Reads "10.0", "10", "5.5", ... -EINVAL, with *ret unchanged: not a release from 5.0 to 10.0. */
int apollo_release_named(const char *name, enum apollo_release *ret);

struct apollo_type; /* a message of Apollo that one of our types becomes, or vice versa */

/*
 * The message that sim_type ("sim/Image") becomes: wanted ("apollo.drivers.Image"), or with NULL the default. NULL:
 * there is none.
 */
const struct apollo_type *apollo_type_for(enum apollo_release r, const char *sim_type, const char *wanted);
/*
 * The incoming message called name ("apollo.control.ControlCommand") that becomes sim_type, or with NULL its default.
 * NULL: there is none.
 */
const struct apollo_type *apollo_type_named(enum apollo_release r, const char *name, const char *sim_type);
/* For the plug-in's list: the i-th message, NULL after the last. in: of the incoming ones. */
const struct apollo_type *apollo_type_at(enum apollo_release r, bool in, unsigned i);

const char *apollo_type_name(const struct apollo_type *t);
/* the type of ours that it becomes or is made from */
const struct sim_type *apollo_type_sim(const struct apollo_type *t);
const char *apollo_type_channel(const struct apollo_type *t); /* Apollo's channel for it; NULL: depends on the sensor */

#define APOLLO_FILES_MAX 64u
/* Its definitions, one FileDescriptorProto each, dependencies first; static. 0: cyber_bridge has them itself. */
size_t apollo_type_files(const struct apollo_type *t, struct iovec files[APOLLO_FILES_MAX]);

/* The same for any message in the built-in definitions, by name. 0: they do not have it. */
size_t apollo_files(enum apollo_release r, const char *name, struct iovec files[APOLLO_FILES_MAX]);
/* As apollo_type_files(), but also for messages that cyber_bridge has: for logs. */
size_t apollo_type_all_files(const struct apollo_type *t, struct iovec files[APOLLO_FILES_MAX]);

/* ---- out ---- */

/* Options of a channel in the rig. All zero: values are sent unchanged. */
struct apollo_options {
	const char *frame;   /* frame_id instead of the slot's; NULL: the slot's */
	const char *vehicle; /* vin of the Chassis; NULL: left out */
	/*
	 * 1..60 north, -1..-60 south: zone of all UTM positions, wherever the vehicle is; 0: the zone of each position
	 */
	int utm_zone;
	const double
		*origin; /* UTM easting, northing and altitude of the map's origin, for relative positions; or NULL */
	const char *const
		/* frames of Transforms whose axes Apollo has as right, forward, up; NULL-terminated; or NULL */
		*rfu_frames;
	double undulation; /* m: height of the geoid above the ellipsoid, for heights above sea level */
	bool is_static;    /* incoming: Transforms stay valid until the next ones, as those of /tf_static */
};

struct apollo_message { /* one message; borrows everything, body until the bytes are sent */
	const void *body;
	size_t size;
	int64_t stamp_sim_ns; /* of the capture, Unix time */
	uint32_t sequence;
	const char *frame_id; /* of the slot; "": none */
	const struct apollo_options *options;
};

/*
 * Appends the message to out. 0, or -EBADMSG malformed body, -ENOTSUP this message cannot be encoded, -E2BIG, -ENOMEM;
 * then the appended bytes are invalid, and why, unless why_size is 0, contains a reason or "".
 */
int apollo_encode(const struct apollo_type *t, const struct apollo_message *in, struct iov_buf *out, char *why,
		  size_t why_size);

/* ---- in ---- */

struct apollo_limits { /* what a command is checked against */
	int64_t now_sim_ns;
	int64_t max_age_ns;  /* maximum difference between the header's stamp and now, in both directions; 0: any */
	const char *vehicle; /* accepted frame_id of the header; others are refused; NULL: any */
};

/*
 * Reads one message into ret->buf, as apollo_in_read(), and checks a command against limits (NULL: no check). Errors
 * also: -ERANGE a number that is invalid in a command, -ETIME too old or too far ahead, -EXDEV for another vehicle.
 */
struct message_in;
int apollo_decode(const struct apollo_type *t, const struct apollo_limits *l, const struct apollo_options *o,
		  const void *data, size_t len, struct message_in *ret, char *why, size_t why_size);

#endif
