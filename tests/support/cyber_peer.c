/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cyber-peer [PORT]: the test server of cyber_server.h as a program, for `make demo BRIDGES=cyber`. Once a second to whoever subscribes to
 * /apollo/control it plays a driver: ten seconds of throttle, a curve to the left and to the right, then the brake. At its end it lists what has
 * come, decoded by protobuf-c.
 */
#include "cyber_server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cyber_print.h"

#define TICK_MS 20

static uint8_t last[48u << 20];

static size_t put_double(uint8_t *to, uint8_t tag, double v)
{
	to[0] = tag;
	memcpy(to + 1, &v, 8);
	return 9;
}

/* ControlCommand: 3 throttle, 4 brake, 7 steering_target, percent; 20 gear_location. */
static size_t a_command(uint8_t *to, double throttle, double brake, double steering)
{
	size_t n = put_double(to, 0x19, throttle);

	n += put_double(to + n, 0x21, brake);
	n += put_double(to + n, 0x39, steering);
	memcpy(to + n, "\xa0\x01\x01", 3); /* GEAR_DRIVE */
	return n + 3;
}

/* What the driver does t seconds after the first command. */
static size_t play(uint8_t *to, double t)
{
	if (t < 6)
		return a_command(to, 40, 0, 0);
	if (t < 8)
		return a_command(to, 20, 0, 10);
	if (t < 10)
		return a_command(to, 20, 0, -10);
	return a_command(to, 0, 60, 0);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void list(struct cyber_server *s)
{
	struct cyber_server_channel c;
	char text[400];

	printf("%-36s %-40s %9s %8s %10s\n", "channel", "type", "messages", "Hz", "MB");
	for (unsigned i = 0; cyber_server_channel(s, i, &c); i++) {
		double dur = (double)(c.last_mono_ns - c.first_mono_ns) / 1e9;
		size_t n = cyber_server_last(s, c.name, last, sizeof(last));

		if (!c.count && !c.refused)
			continue;
		printf("%-36s %-40s %9llu %8.1f %10.3f%s\n", c.name, c.type, (unsigned long long)c.count,
		       c.count > 1 && dur > 0 ? (double)(c.count - 1) / dur : 0.0, (double)c.bytes / 1e6,
		       c.refused ? ", and some without a writer" : "");
		if (n != SIZE_MAX)
			printf("    last: %s\n",
			       cyber_print(c.type, last, n, text, sizeof(text)) ? text : "not readable");
	}
}

int main(int argc, char **argv)
{
	const struct timespec tick = { 0, TICK_MS * 1000000L };
	struct cyber_server *s;
	uint64_t commands = 0;
	uint8_t command[64];
	double begin = 0;
	sigset_t end;

	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGINT);
	sigprocmask(SIG_BLOCK, &end, NULL);
	s = cyber_server_create(argc > 1 ? (unsigned)atoi(argv[1]) : 9090, NULL);
	if (!s) {
		perror("cyber-peer");
		return 1;
	}
	printf("cyber-peer: 127.0.0.1:%u\n", cyber_server_port(s));
	fflush(stdout);
	while (sigtimedwait(&end, NULL, &tick) < 0) {
		size_t n = play(command, commands ? now() - begin : 0);

		if (!cyber_server_publish(s, "/apollo/control", command, (uint32_t)n))
			continue;
		if (!commands++)
			begin = now();
	}
	list(s);
	printf("%llu commands were sent on /apollo/control\n", (unsigned long long)commands);
	if (*cyber_server_fault(s))
		printf("fault: %s\n", cyber_server_fault(s));
	cyber_server_destroy(s);
	return 0;
}
