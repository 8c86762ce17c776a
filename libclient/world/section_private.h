/* SPDX-License-Identifier: Apache-2.0 */
/* Field numbers of Section and Row in schemas/wire/world.proto; a test checks them against protobuf-c's. */
#ifndef WORLD_SECTION_PRIVATE_H
#define WORLD_SECTION_PRIVATE_H

enum {
	SECTION_X = 1,
	SECTION_Y = 2,
	SECTION_LEVEL = 3,
	SECTION_TICK = 4,
	SECTION_BASE = 5,
	SECTION_ROW = 6,
	SECTION_LEFT = 7,
	SECTION_COUNT = 8,
	SECTION_HASH = 9,
	SECTION_TIME = 10,
};

enum { ROW_ID = 1, ROW_CODE = 2, ROW_OWNER = 3, ROW_MOTION = 4, ROW_BODY = 5, ROW_WHOLE = 6 };

#endif
