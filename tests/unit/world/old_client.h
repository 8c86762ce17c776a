/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client as TR-2016-06 had it: messages of 361 bytes by protobuf, read as that many and nothing else. What carries the bytes is the caller's.
 * Thread: the test's.
 */
#ifndef WORLD_TEST_OLD_CLIENT_H
#define WORLD_TEST_OLD_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unit/world/tr2016.pb-c.h"

#define OLD_SIZE     361
#define OLD_VEHICLES 128

struct old_vehicle {
	double x, y, z, yaw, speed; /* wheels are 2 m and 1 m off, turned as the chassis is */
};

struct old_seen {
	int32_t id;
	int64_t timestamp;
	double ch_time, x, y, z, speed, rot[4], wheel[4][3];
};

struct old_client {
	uint8_t in[1 << 17];
	size_t n_in;
	bool numbered;
	int32_t number;
	struct old_seen seen[OLD_VEHICLES],
		coming[OLD_VEHICLES]; /* of the last reply that is whole; of the one to come */
	unsigned n_seen, n_coming, replies, beats;
	bool disconnected;
};

/* Code 2 and the message. */
size_t old_update(const struct old_client *c, const struct old_vehicle *v, uint8_t ret[1 + OLD_SIZE]);
/* The same for a vehicle that is not its own. */
size_t old_update_of(int32_t id, const struct old_vehicle *v, uint8_t ret[1 + OLD_SIZE]);
/* What came. */
void old_take(struct old_client *c, const void *data, size_t len);
const struct old_seen *old_find(const struct old_client *c, int32_t id);

#endif
