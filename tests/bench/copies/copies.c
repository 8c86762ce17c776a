/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-copies PLUGIN: how often the bytes of an image are copied from the slot to the socket, in the whole process that has the
 * ROS 2 plug-in: this program's memcpy() and memmove() stand before the C library's, for the plug-in and Cyclone too, and count
 * what moves in blocks of 4 KiB and more. Prints bytes moved and bytes of the image. The kernel's own copy is not counted.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sim/msg/Image.h>

#include "system/ros2/host.h"
#include "system/ros2/reader.h"
#include "support/message.h"

#define BLOCK  4096u
#define WIDTH  2048u
#define HEIGHT 1024u

typedef void *move_fn(void *to, const void *from, size_t n);

static _Atomic uint64_t moved;
static move_fn *next; /* memmove() of the C library: right for both */

static void *move(void *to, const void *from, size_t n)
{
	if (n >= BLOCK)
		atomic_fetch_add(&moved, n);
	if (next)
		return next(to, from, n);
	for (size_t i = 0; i < n; i++) /* before main() */
		((volatile uint8_t *)to)[i] = ((const volatile uint8_t *)from)[i];
	return to;
}

#define EXPORTED __attribute__((visibility("default"), used))
EXPORTED void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	return move(to, from, n);
}
EXPORTED void *memmove(void *to, const void *from, size_t n)
{
	return move(to, from, n);
}
void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);
EXPORTED void *__memcpy_chk(void *to, const void *from, size_t n, size_t room)
{
	if (n > room)
		abort();
	return move(to, from, n);
}
void *__memmove_chk(void *to, const void *from, size_t n, size_t room);
EXPORTED void *__memmove_chk(void *to, const void *from, size_t n, size_t room)
{
	return __memcpy_chk(to, from, n, room);
}

/* A byte for each image that has come. */
static int reader_main(int out)
{
	struct seen_image *m = calloc(1, sizeof(*m));
	dds_entity_t r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	r = reader_open(reader_participant(), &seen_image_desc, "rt/bench/copies", true);
	while (reader_take(r, m) == 0)
		if (write(out, "", 1) != 1)
			return 1;
	return 1;
}

int main(int argc, char **argv)
{
	static const char *const options[] = { "ros_distro", "humble", NULL };
	static struct host h;
	struct sim_bridge_topic *t;
	struct sim_bridge *b;
	struct sim_slot *s;
	uint64_t before;
	int came[2];
	pid_t pid;
	char c;

	memcpy(&next, &(void *){ dlsym(RTLD_NEXT, "memmove") }, sizeof(next));
	if (argc != 2 || !next || pipe(came) < 0)
		return 2;
	pid = fork();
	if (!pid)
		_exit(reader_main(came[1]));
	s = host_image(WIDTH, HEIGHT);
	host_init(&h, argv[1], options);
	b = host_create(&h);
	t = host_open(&h, b, "/bench/copies", &sim_Image_type,
		      "{\"ros2\":{\"reliability\":\"reliable\",\"durability\":\"transient_local\",\"depth\":1}}");
	if (h.ops->publish(b, t, MESSAGE_OF(s), NULL) < 0 ||
	    read(came[0], &c, 1) != 1) /* kept: it comes when both know each other */
		return 1;
	before = atomic_load(&moved);
	if (h.ops->publish(b, t, MESSAGE_OF(s), NULL) < 0 || read(came[0], &c, 1) != 1)
		return 1;
	printf("%llu %u\n", (unsigned long long)(atomic_load(&moved) - before), WIDTH * HEIGHT * 3);
	h.ops->destroy(b);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
