/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a type crosses into ROS: by a converter of the rig, else by a mapping of ours, else as it is, field by field. And the
 * way back. One conversion belongs to a channel of a bridge: it is opened once and then constant, so any thread may use it.
 */
#ifndef CONVERSION_H
#define CONVERSION_H

#include <sim/bridge.h>

#include "cdr_reader.h"
#include "map.h"
#include "ros/ros_type.h"
#include "map_in.h"

struct apollo_type;
struct dec_pb;
struct msg_file;
struct pb_type;
struct ros_text;

struct conversion_out {
	const struct ros_type *type; /* theirs */
	/* one of these three: */
	const struct sim_converter *converter;
	const struct map *map;
	const struct sim_type *generic;
	struct ros_text *made; /* type, where it had to be made */
	bool ros1;             /* type is ROS 1's */
	/* instead of all these: conversion_out_open_apollo() */
	const struct apollo_type *apollo;
	struct pb_type *defined;      /* or this: it has no mapping */
	struct ros_type *apollo_made; /* type, then */
};

/*
 * known: ros1_types or ros2_types, what is found without a definition. foreign: the type that the rig asks for; NULL: the first
 * one. borrows type until conversion_out_close(). `why` gets a sentence. Errors: -ENOTSUP there is no way; -ELIBBAD a
 * converter is not usable; -ENOMEM.
 */
int conversion_out_open(const struct sim_bridge_host *host, const struct ros_type *const *known,
			const struct sim_type *type, const char *foreign, struct conversion_out *ret, char *why,
			size_t why_size);
/*
 * The message of that package that a type becomes, for who prefers them to the first one: "pb_msgs/Imu". NULL: the package has
 * none, or a converter of the rig is for that type.
 */
const char *conversion_out_preferred(const struct sim_bridge_host *host, const struct sim_type *type,
				     const char *package);
void conversion_out_close(struct conversion_out *c); /* also one that is all zero */

/*
 * As Apollo before Cyber RT has it over ROS 1 (apollo_ros.h), or the message of protobuf that the type was made of (pb_type.h); its messages go out by conversion_out_apollo().
 * foreign: "pb_msgs/Chassis", or NULL, the first. Errors: -ENOENT there is no such message, or a converter of the rig is for it; -ENOTSUP another definition of the type, with a
 * sentence; -ENOMEM.
 */
int conversion_out_open_apollo(const struct sim_bridge_host *host, const struct sim_type *type, const char *foreign,
			       struct conversion_out *ret, char *why, size_t why_size);
/* Append a message to out, which is empty. Errors: as apollo_encode(), pb_type_encode(). */
struct iov_buf;
int conversion_out_apollo(const struct conversion_out *c, const struct map_message *in, struct iov_buf *out);

/*
 * Before the first message: take the form that the type had before autoware_msgs 1.8, where that is another one; true says that
 * it is, and map_options.no_predictions must be set then. False: it has always been so, or a converter defines it.
 * Errors: those of ros_text_create(), with a sentence.
 */
int conversion_out_before_1_8(struct conversion_out *c, const struct ros_type *const *known, bool *ret, char *why,
			      size_t why_size);

/*
 * Encode a message. Errors: -EBADMSG the body does not hold together, -ENOTSUP not with these options, -EPROTO the converter
 * does not follow its definition (`why` gets a sentence, else it becomes ""), or the converter's own.
 */
int conversion_out_emit(const struct conversion_out *c, const struct map_message *in, struct sim_enc *e, char *why,
			size_t why_size);

/* "converter", "mapping" or "own fields" */
const char *conversion_out_how(const struct conversion_out *c);

struct conversion_in {
	const struct ros_type *type; /* theirs */
	const struct sim_type *sim;  /* ours */
	/* one of these, or neither: field by field */
	const struct sim_converter *converter;
	const struct map_in *map_in;
	/* conversion_in_open_apollo(): one of both */
	const struct apollo_type *apollo;
	struct pb_type *defined;
	struct dec_pb *decoder;       /* of defined, whose messages one thread reads at a time */
	struct ros_type *apollo_made; /* type, then */
	struct ros_text *made;
	struct msg_file *file;      /* sim, where it had to be read */
	const struct sim_type *own; /* sim, where it had to be made: */
	bool has_header;            /* and begins with a std_msgs/Header, which says its stamp and frame */
	bool before_1_8;            /* read by map_in as autoware_msgs had it before 1.8 */
	/* as of struct map_options; 0 and NULL, for the opener to set */
	double undulation;
	const double *origin;
};

/*
 * What becomes of a foreign type. host NULL: there are no converters. definition: path of the .msg file of our type, which then comes in as it is; NULL: none is
 * needed. Errors as above; -ENOTSUP: nothing of ours is made of it; those of msg_file_read().
 */
int conversion_in_open(const struct sim_bridge_host *host, const struct ros_type *const *known, const char *foreign,
		       const char *definition, struct conversion_in *ret, char *why, size_t why_size);
/* The same as that type of ours, where a foreign one may become several (map_in_find_to()). -ENOTSUP: it cannot. */
int conversion_in_open_as(const struct sim_bridge_host *host, const struct ros_type *const *known, const char *foreign,
			  const char *sim, struct conversion_in *ret, char *why, size_t why_size);
/*
 * A message of ROS that stands in schemas/ros as it is, field by field, where conversion_in_open() knows nothing for it; jazzy: with that
 * release's fields. -ENOENT: it does not stand there, and `why` is as it was; else as ros_own_type().
 */
int conversion_in_open_common(const struct ros_type *const *known, bool jazzy, const char *foreign,
			      struct conversion_in *ret, char *why, size_t why_size);
/*
 * A foreign type with its definition, as the far side or a log has it (ros_text.h): as conversion_in_open() where it is known here, and the
 * definition must then be that one; else by its own fields, as a type of that name. definition NULL: there is none, and what stands in schemas/ros will do.
 * raw: by its own fields even if there is a mapping or a converter. Errors, with a sentence whose subject is the caller's to name: -ENOTSUP
 * the definition is malformed, missing, another one than here, or nothing of ours can be made of it; -ELIBBAD; -ENOMEM.
 */
int conversion_in_open_text(const struct sim_bridge_host *host, const struct ros_type *const *known,
			    const char *foreign, const char *definition, bool raw, struct conversion_in *ret, char *why,
			    size_t why_size);
/*
 * A message of Apollo's before Cyber RT ("pb_msgs/Imu"), which of several the topic says; sim: the type of ours that it becomes, NULL: the first, and where there is none, or
 * raw, a type of its own by Apollo's definition. To be read by conversion_in_read() alone. -ENOTSUP, with a sentence: nothing is made of it; -ENOMEM.
 */
int conversion_in_open_apollo(const char *foreign, const char *topic, const char *sim, bool raw,
			      struct conversion_in *ret, char *why, size_t why_size);
void conversion_in_close(struct conversion_in *c);

/*
 * As map_in_read(). What comes back is not checked: the host does that when it is published. What comes in field by field has a
 * stamp and a frame only where its type was made and begins with a std_msgs/Header; of a converter they are those of the first header that
 * its message has.
 */
int conversion_in_read(const struct conversion_in *c, enum wire_format format, const void *data, size_t len,
		       struct message_in *to);

/*
 * The same from a decoder of any format, of the message that is open there: a field of an envelope may be it. Whether more
 * stands behind it is the caller's to check.
 */
int conversion_in_take(const struct conversion_in *c, struct sim_dec *d, struct message_in *to);

#endif
