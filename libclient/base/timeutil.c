/* SPDX-License-Identifier: Apache-2.0 */
/* Time arithmetic, see timeutil.h. Thread: any. */
#include "timeutil.h"

#include "err.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int64_t now(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return timespec_to_ns(&t);
}

int64_t mono_now_ns(void)
{
	return now(CLOCK_MONOTONIC);
}

int64_t real_now_ns(void)
{
	return now(CLOCK_REALTIME);
}

void mono_sleep_until(int64_t until_mono_ns)
{
	struct timespec t = timespec_from_ns(until_mono_ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		continue;
}

struct unit {
	const char *name;
	int64_t factor;
};

/*
 * A decimal number with at most one point, then a unit of the table; exact. Digits behind the point
 * that the unit cannot express are an error.
 */
static int parse_scaled(const char *s, const struct unit *units, size_t n, int64_t *ret)
{
	int128 whole = 0;
	int64_t frac_div = 1;
	const char *p = s;
	int digits = 0, point = 0;

	for (; isdigit((unsigned char)*p) || (*p == '.' && !point); p++) {
		if (*p == '.') {
			point = 1;
			continue;
		}
		if (++digits > 30)
			return -ERANGE;
		whole = whole * 10 + (*p - '0');
		if (point) {
			if (frac_div >= INT64_C(100000000000000000))
				return -ERANGE;
			frac_div *= 10;
		}
	}
	if (!digits || p[-1] == '.')
		return -EINVAL;
	if (!whole && !*p) {
		*ret = 0;
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		int128 v;

		if (strcmp(p, units[i].name) != 0)
			continue;
		if (whole > ((int128)1 << 80))
			return -ERANGE;
		v = whole * (int128)units[i].factor;
		if (v % (int128)frac_div)
			return -EINVAL;
		v /= (int128)frac_div;
		if (v > INT64_MAX)
			return -ERANGE;
		*ret = (int64_t)v;
		return 0;
	}
	return -EINVAL;
}

int dur_parse(const char *s, int64_t *ret_dur_ns)
{
	static const struct unit units[] = {
		{ "ns", 1 },       { "us", NS_PER_US },    { "ms", NS_PER_MS },
		{ "s", NS_PER_S }, { "m", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S },
	};
	int64_t size_ns;
	int r = parse_scaled(s, units, sizeof(units) / sizeof(units[0]), ret_dur_ns);

	if (*s == '-' && parse_scaled(s + 1, units, sizeof(units) / sizeof(units[0]), &size_ns) == 0)
		return err_set(r, "\"%.40s\" is below zero, which no duration is", s);
	if (r < 0)
		return err_set(r,
			       "\"%.40s\" is not a duration; write a number and ns, us, ms, s, m or h, such as 100ms",
			       s);
	return 0;
}

int size_parse(const char *s, int64_t *ret_bytes)
{
	static const struct unit units[] = {
		{ "", 1 },          { "B", 1 },         { "KiB", 1 << 10 },
		{ "MiB", 1 << 20 }, { "GiB", 1 << 30 }, { "TiB", INT64_C(1) << 40 },
		{ "kB", 1000 },     { "MB", 1000000 },  { "GB", 1000000000 },
	};
	int r = parse_scaled(s, units, sizeof(units) / sizeof(units[0]), ret_bytes);

	if (r < 0)
		return err_set(r, "\"%.40s\" is not a size; write bytes, or a number and KiB, MiB, GiB, kB, MB or GB",
			       s);
	return 0;
}

const char *stamp_format(int64_t ns, char buf[STAMP_FORMAT_MAX])
{
	uint64_t v = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

	snprintf(buf, STAMP_FORMAT_MAX, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "", v / (uint64_t)NS_PER_S,
		 v % (uint64_t)NS_PER_S);
	return buf;
}
