/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a type crosses into ROS and back: by a converter of the rig, else by a mapping of ours, else field by field. A
 * conversion belongs to one channel of a bridge: it is opened once and then constant, so any thread may use it.
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
	const struct ros_type *type; /* the foreign type */
	/* exactly one of these three is set: */
	const struct sim_converter *converter;
	const struct map *map;
	const struct sim_type *generic;
	struct ros_text *made; /* owns type, if that had to be made */
	bool ros1;             /* type is of ROS 1 */
	/* instead of the three; set by conversion_out_open_apollo() */
	const struct apollo_type *apollo;
	struct pb_type *defined;      /* or this, for a message without a mapping */
	struct ros_type *apollo_made; /* owns type in these two cases */
};

/*
 * Opens a conversion. known: ros1_types or ros2_types, the types found without a definition. foreign: the type that the
 * rig asks for; NULL: the default. Borrows type until conversion_out_close(). Errors, with a reason in `why`: -ENOTSUP
 * no conversion exists; -ELIBBAD a converter is not usable; -ENOMEM.
 */
int conversion_out_open(const struct sim_bridge_host *host, const struct ros_type *const *known,
			const struct sim_type *type, const char *foreign, struct conversion_out *ret, char *why,
			size_t why_size);
/*
 * The message of that package that a type becomes, "pb_msgs/Imu", for callers that prefer the package over the default.
 * NULL: the package has none, or the rig has a converter for the type.
 */
const char *conversion_out_preferred(const struct sim_bridge_host *host, const struct sim_type *type,
				     const char *package);
void conversion_out_close(struct conversion_out *c); /* c may be all zero */

/*
 * Opens a conversion to Apollo before Cyber RT over ROS 1 (apollo_ros.h), or to the protobuf message from which the
 * type was made (pb_type.h); encode with conversion_out_apollo(). foreign: "pb_msgs/Chassis", or NULL, the default.
 * Errors: -ENOENT there is no such message, or the rig has a converter for it; -ENOTSUP the type has another
 * definition, with a reason; -ENOMEM.
 */
int conversion_out_open_apollo(const struct sim_bridge_host *host, const struct sim_type *type, const char *foreign,
			       struct conversion_out *ret, char *why, size_t why_size);
/* Appends a message to out, which must be empty. Errors: as apollo_encode(), pb_type_encode(). */
struct iov_buf;
int conversion_out_apollo(const struct conversion_out *c, const struct map_message *in, struct iov_buf *out);

/*
 * Before the first message: switches to the form that the type had before autoware_msgs 1.8, if that differs; *ret
 * true: it differs, and the caller must set map_options.no_predictions. *ret false: it never changed, or a converter
 * defines it. Errors: those of ros_text_create(), with a reason.
 */
int conversion_out_before_1_8(struct conversion_out *c, const struct ros_type *const *known, bool *ret, char *why,
			      size_t why_size);

/*
 * Encodes a message. Errors: -EBADMSG malformed body, -ENOTSUP not with these options, -EPROTO the converter does not
 * follow its definition (`why` contains the reason, otherwise it is empty), or the converter's own.
 */
int conversion_out_emit(const struct conversion_out *c, const struct map_message *in, struct sim_enc *e, char *why,
			size_t why_size);

/* "converter", "mapping" or "own fields" */
const char *conversion_out_how(const struct conversion_out *c);

struct conversion_in {
	const struct ros_type *type; /* the foreign type */
	const struct sim_type *sim;  /* our type */
	/* one of these, or neither: field by field */
	const struct sim_converter *converter;
	const struct map_in *map_in;
	/* set by conversion_in_open_apollo(): exactly one of them */
	const struct apollo_type *apollo;
	struct pb_type *defined;
	struct dec_pb *decoder;       /* for `defined`; used by one thread at a time */
	struct ros_type *apollo_made; /* owns type in this case */
	struct ros_text *made;
	struct msg_file *file;      /* owns sim, if that was read from a file */
	const struct sim_type *own; /* owns sim, if that was made from a definition */
	bool has_header;            /* and begins with a std_msgs/Header, which gives stamp and frame */
	bool before_1_8;            /* map_in reads the form before autoware_msgs 1.8 */
	/* as in struct map_options; 0 and NULL until the opener sets them */
	double undulation;
	const double *origin;
};

/*
 * Opens the conversion of a foreign type. host NULL: no converters. definition: path of our type's .msg file, whose
 * fields are then read unchanged; NULL: not needed. Errors as above; -ENOTSUP: it cannot be converted; those of
 * msg_file_read().
 */
int conversion_in_open(const struct sim_bridge_host *host, const struct ros_type *const *known, const char *foreign,
		       const char *definition, struct conversion_in *ret, char *why, size_t why_size);
/* The same to this type of ours, for a foreign type that can become several (map_in_find_to()). -ENOTSUP: it cannot. */
int conversion_in_open_as(const struct sim_bridge_host *host, const struct ros_type *const *known, const char *foreign,
			  const char *sim, struct conversion_in *ret, char *why, size_t why_size);
/*
 * Reads a ROS message of schemas/ros field by field, for types that conversion_in_open() cannot convert; jazzy: with
 * that release's fields. -ENOENT: schemas/ros does not have it, and `why` is unchanged; else as ros_own_type().
 */
int conversion_in_open_common(const struct ros_type *const *known, bool jazzy, const char *foreign,
			      struct conversion_in *ret, char *why, size_t why_size);
/*
 * Opens a foreign type with the definition that the far side or a log provides (ros_text.h): as conversion_in_open() if
 * the type is known here, and the definition must then match; else field by field, as a type of that name. definition
 * NULL: not provided, schemas/ros is used. raw: field by field even if there is a mapping or a converter. Errors, with
 * a reason to which the caller adds the subject: -ENOTSUP the definition is malformed, missing, does not match, or
 * cannot become a type of ours; -ELIBBAD; -ENOMEM.
 */
int conversion_in_open_text(const struct sim_bridge_host *host, const struct ros_type *const *known,
			    const char *foreign, const char *definition, bool raw, struct conversion_in *ret, char *why,
			    size_t why_size);
/*
 * Opens a message of Apollo before Cyber RT ("pb_msgs/Imu"; the topic decides between messages of one name). sim: our
 * type that it becomes, NULL: the default; if there is none, or with raw, a type made from Apollo's definition. Read
 * only by conversion_in_read(). -ENOTSUP, with a reason: it cannot be converted; -ENOMEM.
 */
int conversion_in_open_apollo(const char *foreign, const char *topic, const char *sim, bool raw,
			      struct conversion_in *ret, char *why, size_t why_size);
void conversion_in_close(struct conversion_in *c);

/*
 * As map_in_read(). The body is not checked here: the host does that when it is published. A message read field by
 * field has a stamp and frame only if its type was made from a definition and begins with a std_msgs/Header; with a
 * converter they are those of the first header in the message.
 */
int conversion_in_read(const struct conversion_in *c, enum wire_format format, const void *data, size_t len,
		       struct message_in *to);

/*
 * The same from a decoder of any format, positioned in the message, which may be a field of an envelope. The caller
 * checks whether anything follows.
 */
int conversion_in_take(const struct conversion_in *c, struct sim_dec *d, struct message_in *to);

#endif
