/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any messages about time from a peer: read, written again the same, and given to a time host and to a follower, whose
 * steps are then requested. Blocks of the input: two bytes of length, one that chooses the action, the message. Thread:
 * one.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/bridge/link/clock_follow.h"
#include "tools/bridge/link/clock_host.h"
#include "tools/bridge/link/step_follow.h"
#include "tools/bridge/link/step_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID   UINT64_C(1)
#define LIFE UINT64_C(0x1111111111111111)

static struct step_export room[STEP_ALL_EXPORTS_MAX];
static unsigned char out[TIME_MSG_MAX];
static bool running, closing;

static void on_send(void *ctx, const struct time_msg *m)
{
	size_t n = time_msg_write(m, out, sizeof(out));

	(void)ctx;
	if (!n || n > sizeof(out))
		abort();
}

static void on_changed(void *ctx, enum clock_host_state state, const char *other)
{
	(void)ctx;
	if ((state == CLOCK_REFUSED) != (other != NULL))
		abort();
}

static void on_told(void *ctx, const struct clock_told *t)
{
	(void)ctx;
	if (t->sim_ns < 0 || t->error_dur_ns < 0 || t->rate_e6 < 0)
		abort();
}

static void on_found(void *ctx, const struct clock_time_host *host)
{
	(void)ctx;
	if (strlen(host->name) >= TIME_NAME_SIZE)
		abort();
}

static void on_lost(void *ctx, const char *why)
{
	(void)ctx;
	(void)why;
}

static void on_committed(void *ctx, uint64_t number, const struct step_export *exports, uint32_t n)
{
	(void)ctx;
	if (!number || (n && !exports))
		abort();
}

static void on_host_over(void *ctx, uint64_t number)
{
	(void)ctx;
	(void)number;
}

static void on_event(void *ctx, enum step_event what, const struct step_member *who)
{
	(void)ctx;
	(void)what;
	if (!who->name[0])
		abort();
}

static void on_joined(void *ctx, uint64_t first, int64_t sim_ns)
{
	(void)ctx;
	(void)sim_ns;
	if (!first)
		abort();
}

static void on_out(void *ctx, enum step_reason reason)
{
	(void)ctx;
	(void)reason;
}

static void on_advance(void *ctx, const struct step_turn *t)
{
	(void)ctx;
	if (running || closing || t->from_sim_ns < 0 || t->dur_ns < 1)
		abort();
	running = true;
}

static void on_over(void *ctx, uint64_t number, bool alone)
{
	(void)ctx;
	(void)number;
	(void)alone;
	if (!running || closing)
		abort();
	running = false;
	closing = true;
}

struct all {
	struct clock_host *host;
	struct clock_follow *follow;
	struct step_host *steps;
	struct step_follow *part;
	int64_t now, sim_ns;
};

static int make(struct all *a)
{
	const struct clock_host_options ho = { ID, LIFE, "a", 1000, true, 1, on_send, on_changed, NULL };
	const struct clock_follow_options fo = { ID, LIFE, NULL, 1000, 100, on_send, on_told, on_found, on_lost, NULL };
	const struct step_host_options so = { ID,           LIFE,         1,        1000, 200, STEP_LATE_DROP, on_send,
					      on_committed, on_host_over, on_event, NULL };
	const struct step_follow_options po = { ID,     LIFE,       "a",          200,     on_send, on_joined,
						on_out, on_advance, on_committed, on_over, NULL };

	running = closing = false;
	if (clock_host_create(&ho, 0, &a->host) < 0 || clock_follow_create(&fo, 0, &a->follow) < 0 ||
	    step_host_create(&so, &a->steps) < 0 || step_follow_create(&po, &a->part) < 0)
		return -1;
	return 0;
}

static void act(struct all *a, unsigned what)
{
	struct clock_time_host host;
	uint64_t number;

	a->now += 1 << (what & 15);
	switch (what >> 4) {
	case 0:
		if (step_host_begin(a->steps, a->now, a->sim_ns + 5, 5, 1, &number) == 0)
			a->sim_ns += 5;
		break;
	case 1:
		(void)!step_host_own(a->steps, a->now, NULL, 0);
		break;
	case 2:
		(void)!step_follow_own(a->part, a->now, NULL, 0);
		break;
	case 3:
		closing = false;
		step_follow_ended(a->part, a->now);
		break;
	case 4:
		clock_host_tick(a->host, a->now);
		clock_follow_tick(a->follow, a->now);
		step_host_tick(a->steps, a->now);
		step_follow_tick(a->part, a->now);
		break;
	case 5:
		step_follow_host(a->part, a->now, 2, LIFE, true);
		break;
	case 6:
		if (clock_follow_host(a->follow, &host))
			step_follow_host(a->part, a->now, host.id, host.epoch, host.lockstep);
		break;
	default:
		break;
	}
}

static void message(struct all *a, const uint8_t *bytes, size_t size)
{
	struct time_msg m;
	size_t n;

	if (time_msg_read(bytes, size, room, &m) < 0)
		return;
	n = time_msg_write(&m, out, sizeof(out));
	if (n != size || memcmp(out, bytes, n) != 0)
		abort();
	clock_host_got(a->host, a->now, &m);
	clock_follow_got(a->follow, a->now, &m);
	step_host_got(a->steps, a->now, &m);
	step_follow_got(a->part, a->now, &m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct all a = { 0 };

	if (make(&a) < 0)
		abort();
	while (size >= 3) {
		size_t n = (size_t)(data[0] | data[1] << 8);

		act(&a, data[2]);
		data += 3;
		size -= 3;
		n = n < size ? n : size;
		message(&a, data, n);
		data += n;
		size -= n;
	}
	clock_host_destroy(a.host);
	clock_follow_destroy(a.follow);
	step_host_destroy(a.steps);
	step_follow_destroy(a.part);
	return 0;
}
