/* SPDX-License-Identifier: Apache-2.0 */
/* See play_time.h. */
#include "play_time.h"

#include "number.h"
#include "timeutil.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#define SECONDS_MAX INT64_C(9000000000) /* of a time in seconds, so that ns fit int64_t */

/* Parses "12.5" up to `end`, with at most 9 decimal places, into ns, without floating point. */
static int seconds_parse(const char *s, const char **ret_end, int64_t *ret_ns)
{
	uint64_t whole = 0;
	int64_t ns, unit = NS_PER_S;
	int r = *s == '.' && isdigit((unsigned char)s[1]) ? 0 : number_take_u64(&s, NUMBER_DEC, SECONDS_MAX, &whole);

	if (r < 0)
		return r;
	ns = (int64_t)whole * NS_PER_S;
	if (*s == '.')
		for (s++; isdigit((unsigned char)*s); s++)
			ns += (unit /= 10) * (*s - '0');
	*ret_end = s;
	*ret_ns = ns;
	return 0;
}

/* Parses Z, +01:00 or nothing; *ret_s: seconds to subtract. */
static bool zone_parse(const char *s, int64_t *ret_s)
{
	uint64_t hours, minutes;
	char sign = *s;

	*ret_s = 0;
	if (!*s || strcmp(s, "Z") == 0)
		return true;
	if ((*s != '+' && *s != '-') || (++s, number_take_u64(&s, NUMBER_DEC, 14, &hours) < 0) || *s != ':' ||
	    number_u64(s + 1, NUMBER_DEC, 59, &minutes) < 0)
		return false;
	*ret_s = (int64_t)(hours * 3600 + minutes * 60) * (sign == '-' ? -1 : 1);
	return true;
}

static int date_parse(const char *text, int64_t *ret_ns)
{
	struct tm tm = { 0 };
	const char *s = strptime(text, "%Y-%m-%d", &tm);
	int64_t second_ns = 0, zone_s;

	if (s && (*s == 'T' || *s == ' ')) {
		s = strptime(s + 1, "%H:%M:", &tm);
		if (!s || seconds_parse(s, &s, &second_ns) < 0 || second_ns >= 61 * NS_PER_S)
			return -EINVAL;
	}
	if (!s || !zone_parse(s, &zone_s))
		return -EINVAL;
	if (tm.tm_year < 70 || tm.tm_year > 350)
		return -ERANGE;
	*ret_ns = ((int64_t)timegm(&tm) - zone_s) * NS_PER_S + second_ns;
	return 0;
}

int play_time_parse(const char *text, int64_t begin_ns, int64_t *ret_log_ns)
{
	bool own = *text == '@';
	const char *end;
	int64_t ns;
	int r = seconds_parse(text + own, &end, &ns);

	if (r == 0 && *end) {
		r = own || *end == '-' ? -EINVAL : dur_parse(text, &ns);
		if (*end == '-' && !own)
			return date_parse(text, ret_log_ns);
	}
	if (r < 0)
		return r;
	if (ns > INT64_MAX - (own || begin_ns < 0 ? 0 : begin_ns))
		return -ERANGE;
	*ret_log_ns = own ? ns : begin_ns + ns;
	return 0;
}

int play_rate_parse(const char *text, int64_t *ret_e6)
{
	double rate;
	int r = number_take_f64(&text, &rate);

	if (r < 0 || (*text && strcmp(text, "x") != 0))
		return r < 0 ? r : -EINVAL;
	if (!(rate >= 1e-6 && rate <= 1e6))
		return -ERANGE;
	*ret_e6 = (int64_t)(rate * 1e6 + 0.5);
	return 0;
}
