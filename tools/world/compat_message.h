/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ChronoMessages.VehicleMessage of TR-2016-06, section 4.3, byte for byte: protobuf (proto2) without a length, 361
 * bytes if the vehicle's number is less than 128. The report does not give the field numbers: the defaults are those of
 * its original client; a file can set others. Pure, any thread.
 */
#ifndef WORLD_COMPAT_MESSAGE_H
#define WORLD_COMPAT_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#define COMPAT_WHEELS     4u
#define COMPAT_SIZE       361u /* size of a message whose timestamp has five bytes and whose number has one */
#define COMPAT_SIZE_MAX   375u /* both with ten bytes */
#define COMPAT_NUMBER_MAX 15   /* of a field: larger numbers need tags of two bytes, which would change the size */

enum compat_field {
	COMPAT_TIMESTAMP,
	COMPAT_VEHICLE_ID,
	COMPAT_CH_TIME,
	COMPAT_SPEED,
	COMPAT_CHASSIS_COM,
	COMPAT_WHEEL_COM,                                      /* and the three after it */
	COMPAT_CHASSIS_ROT = COMPAT_WHEEL_COM + COMPAT_WHEELS, /* 9 */
	COMPAT_WHEEL_ROT,                                      /* and the three after it */
	COMPAT_VECTOR = COMPAT_WHEEL_ROT + COMPAT_WHEELS,      /* x, y, z of an MVector, a message of its own */
	COMPAT_QUATERNION = COMPAT_VECTOR + 3,                 /* e0 to e3 of an MQuaternion, likewise */
	COMPAT_FIELDS = COMPAT_QUATERNION + 4
};

/* Field numbers by enum compat_field, 1 to COMPAT_NUMBER_MAX, unique within each of the three messages. */
struct compat_fields {
	uint8_t number[COMPAT_FIELDS];
};

/* Pose in the world: [m], and a quaternion w x y z that rotates from the body's axes to the world's. */
struct compat_pose {
	double com[3], rot[4];
};

struct compat_vehicle {
	int64_t timestamp; /* [s] since 1970 */
	int32_t id;
	double ch_time;                                    /* time of its simulation [s] */
	double speed;                                      /* [m/s] along its x axis */
	struct compat_pose chassis, wheels[COMPAT_WHEELS]; /* front left, front right, rear left, rear right */
};

void compat_fields_default(struct compat_fields *ret);
/*
 * Reads lines "NAME NUMBER"; # begins a comment. Fields that are not listed keep their number. Negative errno, with the
 * file, line and reason in err_why(): -EINVAL, or that of the file access.
 */
int compat_fields_load(const char *path, struct compat_fields *ret) __attribute__((warn_unused_result));
/* Parses len bytes of text; name: of the file, for err_why(). */
int compat_fields_read(const char *name, const char *text, size_t len, struct compat_fields *ret)
	__attribute__((warn_unused_result));

/*
 * Reads a message at the beginning of data. Returns its size; 0: incomplete; -EBADMSG: malformed. A message ends when
 * each of its fields has occurred once. Numbers are not checked, and may be infinite or NaN.
 */
int compat_vehicle_read(const struct compat_fields *f, const void *data, size_t len, struct compat_vehicle *ret)
	__attribute__((warn_unused_result));
/* Writes to `at`, which has room for COMPAT_SIZE_MAX bytes, in the order of the field numbers. Returns the size. */
size_t compat_vehicle_write(const struct compat_fields *f, const struct compat_vehicle *v, uint8_t *at);

#endif
