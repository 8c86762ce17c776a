/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node as rmw_cyclonedds makes it, as far as discovery goes: Cyclone with what CYCLONEDDS_URI says, and nothing else. It reads /clock
 * and the image of /camera, writes COMMAND to the gear, and says a line for the image and for each clock. Until it is killed.
 *
 *     cyclone-node COMMAND
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "reader.h"

int main(int argc, char **argv)
{
	struct seen_gear gear = { { 1, 2 }, argc > 1 ? (uint8_t)atoi(argv[1]) : 0 };
	dds_entity_t p = dds_create_participant(0, NULL, NULL), clock, camera, w;
	struct seen_image *m = calloc(1, sizeof(*m));
	struct seen_time t = { 0, 0 };

	EXPECT(p > 0 && m);
	clock = reader_open(p, &seen_clock_desc, "rt/clock", false);
	camera = reader_open(p, &seen_image_desc, "rt/camera", true);
	w = reader_write_to(p, &seen_gear_desc, "rt/control/command/gear_cmd");
	EXPECT(clock > 0 && camera > 0 && w > 0 && dds_write(w, &gear) == 0 && write(1, "ready\n", 6) == 6);
	EXPECT(reader_take(camera, m) == 0 && write(1, "image\n", 6) == 6);
	for (;;)
		EXPECT(reader_take(clock, &t) == 0 && write(1, "clock\n", 6) == 6);
}
