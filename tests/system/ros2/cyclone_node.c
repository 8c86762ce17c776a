/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node as rmw_cyclonedds makes it, as far as discovery goes: Cyclone with what CYCLONEDDS_URI says, and nothing else. It reads /clock
 * and the image of /camera, writes COMMAND to the gear, and says a line for the image and for each clock. Ends with its stdin.
 *
 *     cyclone-node COMMAND
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader.h"

/* Thread: its own. With a goodbye to all. */
static void *end_with_stdin(void *participant)
{
	char c;

	while (read(0, &c, 1) > 0)
		continue;
	dds_delete(*(dds_entity_t *)participant);
	_exit(0);
}

static void take(dds_entity_t reader, void *sample, const char *line)
{
	while (reader_take(reader, sample) < 0) /* it ends just now */
		pause();
	EXPECT(write(1, line, strlen(line)) == (ssize_t)strlen(line));
}

int main(int argc, char **argv)
{
	struct seen_gear gear = { { 1, 2 }, argc > 1 ? (uint8_t)atoi(argv[1]) : 0 };
	dds_entity_t p = dds_create_participant(0, NULL, NULL), clock, camera, w;
	struct seen_image *m = calloc(1, sizeof(*m));
	struct seen_time t = { 0, 0 };
	pthread_t thread;

	EXPECT(p > 0 && m);
	clock = reader_open(p, &seen_clock_desc, "rt/clock", false);
	camera = reader_open(p, &seen_image_desc, "rt/camera", true);
	w = reader_write_to(p, &seen_gear_desc, "rt/control/command/gear_cmd");
	EXPECT(clock > 0 && camera > 0 && w > 0 && dds_write(w, &gear) == 0);
	EXPECT(pthread_create(&thread, NULL, end_with_stdin, &p) == 0);
	take(clock, &t, "clock\n");
	take(camera, m, "image\n");
	for (;;)
		take(clock, &t, "clock\n");
}
