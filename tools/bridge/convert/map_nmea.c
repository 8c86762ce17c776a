/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fix as one of the two sentences that SVL sends: GGA, or INSATT with the attitude. Written from integers, so that
 * the locale cannot turn the point into a comma.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "map_private.h"
#include "sim/msg/Gps.h"

#define SENTENCE_MAX 160

static const double DEG_PER_RAD = 180.0 / 3.14159265358979323846;

/* hhmmss.fff, UTC */
static int put_time(char *to, size_t size, int64_t stamp_sim_ns)
{
	int64_t ms = stamp_sim_ns / 1000000 % 86400000;

	ms = ms < 0 ? ms + 86400000 : ms;
	return snprintf(to, size, "%02d%02d%02d.%03d", (int)(ms / 3600000), (int)(ms / 60000 % 60),
			(int)(ms / 1000 % 60), (int)(ms % 1000));
}

/* A number with the given decimals; |v| below 1e9. */
static int put_decimal(char *to, size_t size, double v, int decimals)
{
	int64_t scale = decimals == 3 ? 1000 : 1000000, n = llround(v * (double)scale);
	int64_t abs = n < 0 ? -n : n;

	return snprintf(to, size, "%s%" PRId64 ".%0*" PRId64, n < 0 ? "-" : "", abs / scale, decimals, abs % scale);
}

/* Degrees as ddmm.mmmmmm or dddmm.mmmmmm, without a sign. */
static int put_angle(char *to, size_t size, double deg, int digits)
{
	int64_t n = llround(fabs(deg) * 60e6); /* millionths of a minute: 59.9999999 rounds up to the next degree */

	return snprintf(to, size, "%0*" PRId64 "%02d.%06d", digits, n / 60000000, (int)(n / 1000000 % 60),
			(int)(n % 1000000));
}

/* The same in SVL: degrees * 100 + minutes as a number, so without leading zeros, and possibly with 60 minutes. */
static int put_svl_angle(char *to, size_t size, double deg)
{
	double whole = floor(fabs(deg));

	return put_decimal(to, size, whole * 100 + (fabs(deg) - whole) * 60, 6);
}

static unsigned char sum(const char *s, size_t n)
{
	unsigned char v = 0;

	for (size_t i = 0; i < n; i++)
		v ^= (unsigned char)s[i];
	return v;
}

static void gga(char *s, const struct sim_Gps *m, int64_t stamp_sim_ns, bool svl)
{
	char time[16], lat[24], lon[24], alt[32];
	int n;

	put_time(time, sizeof(time), stamp_sim_ns);
	if (svl) {
		put_svl_angle(lat, sizeof(lat), m->latitude);
		put_svl_angle(lon, sizeof(lon), m->longitude);
	} else {
		put_angle(lat, sizeof(lat), m->latitude, 2);
		put_angle(lon, sizeof(lon), m->longitude, 3);
	}
	put_decimal(alt, sizeof(alt), m->altitude, 6);
	n = snprintf(s, SENTENCE_MAX, "$GPGGA,%s,%s,%c,%s,%c,%d,10,0.01,%s,M,0.000000,M,,", time, lat,
		     m->latitude < 0 ? 'S' : 'N', lon, m->longitude < 0 ? 'W' : 'E',
		     m->status == SIM_GPS_STATUS_NO_FIX ? 0 : 1, alt);
	snprintf(s + n, SENTENCE_MAX - (size_t)n, "*%02X", sum(s + 1, (size_t)n - 1));
}

/* Right side down and nose up are positive; yaw is a compass heading: 0 to 360, clockwise from north. */
static void insatt(char *s, const struct sim_Gps *m, int64_t stamp_sim_ns)
{
	const struct sim_Quaternion q = m->orientation;
	double sine = 2 * (q.w * q.y - q.z * q.x), heading;
	char time[16], roll[24], pitch[24], yaw[24];
	int n;

	heading = 90 - atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y * q.y + q.z * q.z)) * DEG_PER_RAD;
	put_time(time, sizeof(time), stamp_sim_ns);
	put_decimal(roll, sizeof(roll),
		    atan2(2 * (q.w * q.x + q.y * q.z), 1 - 2 * (q.x * q.x + q.y * q.y)) * DEG_PER_RAD, 3);
	put_decimal(pitch, sizeof(pitch), -asin(sine < -1 ? -1 : sine > 1 ? 1 : sine) * DEG_PER_RAD, 3);
	heading = heading < 0 ? heading + 360 : heading;
	put_decimal(yaw, sizeof(yaw), heading < 359.9995 ? heading : 0, 3);
	n = snprintf(s, SENTENCE_MAX, "QQ02C,INSATT,V,%s,%s,%s,%s,", time, roll, pitch, yaw);
	snprintf(s + n, SENTENCE_MAX - (size_t)n, "@%02X", sum(s, (size_t)n));
}

static bool is_a_place(const struct sim_Gps *m)
{
	const struct sim_Quaternion *q = &m->orientation;

	return fabs(m->latitude) <= 90 && fabs(m->longitude) <= 180 && fabs(m->altitude) < 1e9 &&
	       isfinite(q->x + q->y + q->z + q->w);
}

/* Both messages of a fix share a stamp and have consecutive numbers in ROS 1's seq: 2n and 2n + 1. */
MAP(Gps, nmea_msgs, Sentence)
{
	bool attitude = in->options->sentence == MAP_SENTENCE_INSATT;
	struct map_message twice = *in;
	char s[SENTENCE_MAX];

	if (!is_a_place(m))
		return -EBADMSG;
	if (attitude)
		insatt(s, m, in->header.stamp_sim_ns);
	else
		gga(s, m, in->header.stamp_sim_ns, map_is_svl(in));
	twice.header.seq = 2 * in->header.seq + attitude;
	map_header(e, &twice);
	sim_enc_text(e, "sentence", s);
	return 0;
}
