/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any ZMTP from a peer, with or without a greeting: frames found lie within the bytes, are bounded, and do not depend
 * on the pieces in which the bytes arrive. Thread: one.
 */
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "tools/sources/ss2/zmtp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_greeting(const uint8_t *data, size_t size)
{
	int r = zmtp_greeting_check(data, size);

	for (size_t n = 0; n < size && n <= ZMTP_GREETING; n++) {
		int part = zmtp_greeting_check(data, n);

		check(part <= 0 || n == ZMTP_GREETING);
		check(part >= 0 || r < 0); /* an error stays an error */
	}
}

/* Bytes of the unit; 0: it is not whole, or is refused. */
static size_t check_unit(const uint8_t *data, size_t size)
{
	struct zmtp_unit whole = { 0 }, pieces = { 0 };
	int r = zmtp_scan(&whole, data, size), p = 0;

	for (size_t n = 0; p == 0 && n <= size; n += 1 + n / 8)
		p = zmtp_scan(&pieces, data, n);
	if (p == 0)
		p = zmtp_scan(&pieces, data, size);
	check(r == p && (r == 1) == whole.whole);
	if (r != 1)
		return 0;
	check(memcmp(&whole, &pieces, sizeof(whole)) == 0);
	check(whole.size <= size && whole.size <= ZMTP_REQUEST_MAX && whole.at + whole.len <= whole.size);
	check(whole.command ? !whole.envelope : whole.envelope >= 2 && whole.envelope <= ZMTP_ENVELOPE_MAX);
	check(whole.parts > 0);
	return whole.size;
}

static void check_command(const uint8_t *data, size_t size)
{
	uint8_t pong[ZMTP_PONG_MAX];
	int n = zmtp_command(data, size, pong);

	check(n <= (int)sizeof(pong));
	if (n > 0)
		check(check_unit(pong, (size_t)n) == (size_t)n);
	if (zmtp_ready_check(data, size) < 0)
		check(*err_why());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n;

	check_greeting(data, size);
	if (size >= ZMTP_GREETING && zmtp_greeting_check(data, size) == 1) {
		data += ZMTP_GREETING;
		size -= ZMTP_GREETING;
	}
	check_command(data, size);
	for (; (n = check_unit(data, size)) > 0; data += n, size -= n)
		check_command(data + 2, n - 2);
	return 0;
}
