/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ChronoMessages.VehicleMessage of TR-2016-06, section 4.3, byte for byte: protobuf (proto2) without a length before it, 361 bytes where the
 * number of the vehicle is less than 128. The report does not have the fields' numbers: by default they are those of its original client, and a file says
 * otherwise. Pure, any thread.
 */
#ifndef WORLD_COMPAT_MESSAGE_H
#define WORLD_COMPAT_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#define COMPAT_WHEELS     4u
#define COMPAT_SIZE       361u /* of a message, where timestamp has five bytes and the number one */
#define COMPAT_SIZE_MAX   375u /* both have ten */
#define COMPAT_NUMBER_MAX 15   /* of a field: tags are of one byte, else the size is another */

enum compat_field {
	COMPAT_TIMESTAMP,
	COMPAT_VEHICLE_ID,
	COMPAT_CH_TIME,
	COMPAT_SPEED,
	COMPAT_CHASSIS_COM,
	COMPAT_WHEEL_COM,                                      /* and three more */
	COMPAT_CHASSIS_ROT = COMPAT_WHEEL_COM + COMPAT_WHEELS, /* 9 */
	COMPAT_WHEEL_ROT,                                      /* and three more */
	COMPAT_VECTOR = COMPAT_WHEEL_ROT + COMPAT_WHEELS,      /* x, y, z of an MVector: a message of its own */
	COMPAT_QUATERNION = COMPAT_VECTOR + 3,                 /* e0 to e3 of an MQuaternion: the same */
	COMPAT_FIELDS = COMPAT_QUATERNION + 4
};

/* Numbers, 1 to COMPAT_NUMBER_MAX, by enum compat_field; within each of the three messages they differ. */
struct compat_fields {
	uint8_t number[COMPAT_FIELDS];
};

/* A body in the world: [m], and w x y z from its axes to the world's. */
struct compat_pose {
	double com[3], rot[4];
};

struct compat_vehicle {
	int64_t timestamp; /* [s] since 1970 */
	int32_t id;
	double ch_time;                                    /* [s] of its simulation */
	double speed;                                      /* [m/s] along its x axis */
	struct compat_pose chassis, wheels[COMPAT_WHEELS]; /* front left, front right, rear left, rear right */
};

void compat_fields_default(struct compat_fields *ret);
/*
 * Lines "NAME NUMBER"; what stands behind # is for people. A name that is not there keeps its number. Negative, with a sentence that says file and line: -EINVAL;
 * as the system says.
 */
int compat_fields_load(const char *path, struct compat_fields *ret) __attribute__((warn_unused_result));
/* name: of len bytes, which the sentences call it. */
int compat_fields_read(const char *name, const char *text, size_t len, struct compat_fields *ret)
	__attribute__((warn_unused_result));

/*
 * One message from the beginning of what has come. Returns its size; 0: that is not all of it; -EBADMSG: it is none. It ends with the last of its fields, each of which is
 * there once. Numbers may be anything, also not finite.
 */
int compat_vehicle_read(const struct compat_fields *f, const void *data, size_t len, struct compat_vehicle *ret)
	__attribute__((warn_unused_result));
/* Into COMPAT_SIZE_MAX bytes of room, in the order of the fields' numbers. Returns its size. */
size_t compat_vehicle_write(const struct compat_fields *f, const struct compat_vehicle *v, uint8_t *at);

#endif
