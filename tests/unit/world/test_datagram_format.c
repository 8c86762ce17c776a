/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams against a second client of the format, which is written from world.md in another language: datagram_peer.py. Thread: the test's. */
#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datagram_pair.h"

#define PEER "python3 tests/unit/world/datagram_peer.py "

static struct {
	unsigned frames, acked, lost;
} seen;

static int frame(void *user, uint8_t code, const void *body, size_t len)
{
	(void)user;
	seen.frames++;
	if (code == 35)
		assert_memory_equal(body, "done", 4);
	else
		assert_int_equal(len, code == 16 ? 2500 : 0);
	for (size_t i = 0; i < len && code == 16; i++)
		assert_int_equal(((const uint8_t *)body)[i], i % 251);
	return 0;
}

static void acked(void *user, uint64_t tag)
{
	(void)user;
	seen.acked += tag == 1 || tag == 2;
}

static void lost(void *user, uint64_t tag)
{
	(void)user;
	(void)tag;
	seen.lost++;
}

static void run_peer(const char *args, char *ret, size_t size)
{
	static char command[20000];
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command), PEER "%s", args);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(ret, 1, size - 1, f);
	ret[n] = '\0';
	assert_int_equal(pclose(f), 0);
}

/* Each line of text is a datagram. */
static void input_lines(struct datagram *d, char *text, int64_t now)
{
	uint8_t data[PACKET_MAX];
	char *save;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t len = strlen(line) / 2;

		assert_true(len <= PACKET_MAX);
		for (size_t i = 0; i < len; i++)
			data[i] = (uint8_t)strtoul((char[]){ line[2 * i], line[2 * i + 1], 0 }, NULL, 16);
		assert_int_equal(datagram_input(d, data, len, now), 0);
	}
}

static void output_args(struct datagram *d, int64_t now, char *args, uint64_t *ret_newest)
{
	struct datagram_out out;
	char *at = args + sprintf(args, "read");

	assert_int_equal(datagram_output(d, now, &out), 0);
	for (size_t i = 0; i < out.len; i++)
		at += sprintf(at, i % out.segment ? "%02x" : " %02x", out.data[i]);
	assert_true(out.len > out.segment && out.segment == PACKET_MAX);
	memcpy(ret_newest, out.data + out.segment * ((out.len - 1) / out.segment) + 4, sizeof(*ret_newest));
}

static void send_all(struct datagram *d)
{
	char long_one[1500];

	memset(long_one, 1, sizeof(long_one));
	assert_int_equal(datagram_send(d, 1, 5, "beat", 4), 0);
	assert_int_equal(datagram_send(d, 2, 3, long_one, sizeof(long_one)), 0); /* and code 3: 1100 + 1 to 401 */
}

static void acknowledge(struct datagram *d, uint64_t newest, unsigned before, int64_t now)
{
	char args[100], text[4000];

	snprintf(args, sizeof(args), "ack %llu %u", (unsigned long long)newest, before);
	run_peer(args, text, sizeof(text));
	input_lines(d, text, now);
}

TEST(an_independent_implementation_reads_and_is_read)
{
	static const struct datagram_ops ops = { .frame = frame, .acked = acked, .lost = lost };
	const struct datagram_options o = { .connection = 7,
					    .key_out = pair_keys[0],
					    .key_in = pair_keys[1],
					    .server = true,
					    .frame_in_max = 65536,
					    .making_max = 1 << 20,
					    .ops = &ops };
	static char text[20000], args[20000];
	const int64_t now = 1000 * PAIR_MS;
	uint64_t newest;
	struct datagram *d;

	assert_int_equal(datagram_create(&o, &d), 0);
	run_peer("make", text, sizeof(text));
	input_lines(d, text, now);
	assert_int_equal(seen.frames, 3);
	send_all(d);
	output_args(d, now + 7 * PAIR_MS, args, &newest);
	run_peer(args, text, sizeof(text));
	assert_string_equal(text, "ack 5005 17 7000\n"
				  "frame 5 beat\n"
				  "piece 1 0/2 1100 1102\n"
				  "ack 5005 17 7000\n"
				  "piece 1 1/2 401 401\n");
	acknowledge(d, newest, 0, now + 20 * PAIR_MS);
	assert_true(datagram_is_confirmed(d));
	assert_int_equal(seen.acked, 0); /* the first datagram has not come yet */
	acknowledge(d, newest, 1, now + 21 * PAIR_MS);
	assert_int_equal(seen.acked, 2);
	datagram_turn(d, now + 5000 * PAIR_MS);
	assert_int_equal(seen.lost, 0);
	datagram_destroy(d);
}
