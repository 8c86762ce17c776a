/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ROS message types as rosgen reads them from the definitions in this directory: one table for ROS 2, one for ROS
 * 1, where a few definitions differ (ros1/) and times are primitives. Constant data, any thread.
 */
#ifndef ROS_TYPE_H
#define ROS_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */
/* X(ID, bytes on the wire of one element; 0: not fixed) */
#define ROS_PRIMS(X) \
	X(BOOL, 1) X(BYTE, 1) X(CHAR, 1) X(INT8, 1) X(UINT8, 1) X(INT16, 2) X(UINT16, 2) X(INT32, 4) X(UINT32, 4) \
	X(INT64, 8) X(UINT64, 8) X(FLOAT32, 4) X(FLOAT64, 8) X(STRING, 0) X(WSTRING, 0) X(TIME, 8) X(DURATION, 8)
/* clang-format on */

enum ros_prim {
	ROS_NESTED = 0,
#define X(id, bytes) ROS_##id,
	ROS_PRIMS(X)
#undef X
		ROS_PRIM_END
};

enum ros_array { ROS_ONE, ROS_FIXED, ROS_BOUNDED, ROS_VARIABLE };

struct ros_field {
	const char *name;
	const struct ros_type *type; /* for ROS_NESTED, else NULL; times are primitives in both tables */
	uint32_t count;              /* for ROS_FIXED, and the bound for ROS_BOUNDED */
	uint32_t string_max;         /* 0: none */
	uint8_t prim;                /* enum ros_prim */
	uint8_t array;               /* enum ros_array */
};

struct ros_type {
	const char *name; /* "sensor_msgs/Image"; half of a service: "std_srvs/Trigger_Request" */
	const char *kind; /* "msg" or "srv" */
	const char *hash; /* "RIHS01_" and 64 digits; in the ROS 1 table the md5 sum, "" where ROS 1 has no such type */
	const char *definition; /* full text, nested definitions follow after lines of "=" */
	const struct ros_field *fields;
	uint32_t n_fields;
};

struct ros_service {
	const char *name; /* "std_srvs/Trigger" */
	const char *hash; /* md5 sum of both halves in the ROS 1 table, "" in that of ROS 2 */
	const struct ros_type *request, *response;
};

extern const struct ros_type *const ros1_types[], *const ros2_types[]; /* sorted by name, ended by NULL */
extern const struct ros_service ros1_services[], ros2_services[];      /* ended by a NULL name */

/* "pkg/Name", "pkg/msg/Name" or "pkg/srv/Name" in one of the tables; NULL: none. */
const struct ros_type *ros_type_find(const struct ros_type *const *types, const char *name);

/* Name of the DDS type, "sensor_msgs::msg::dds_::Image_"; out has room for size bytes. 0, or -ENAMETOOLONG. */
int ros_type_dds_name(const struct ros_type *t, char *out, size_t size);

/*
 * Whether both have the same field names and encoding. If not, ret_field is the first field of `a` that differs, or of
 * `b` if `a` has no more.
 */
bool ros_type_same(const struct ros_type *a, const struct ros_type *b, const char **ret_field);

#endif
