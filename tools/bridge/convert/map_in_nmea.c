/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sentence of a GNSS receiver: GGA, of any talker, is a fix; INSATT an attitude; other sentences are not converted.
 * Numbers are parsed independently of the locale.
 */
#include <math.h>
#include <string.h>

#include "map_in_private.h"
#include "number.h"
#include "sim/msg/Gps.h"

#define SENTENCE_MAX 255
#define FIELDS_MAX   20u

static const double RAD_PER_DEG = 3.14159265358979323846 / 180.0;

struct sentence {
	char text[SENTENCE_MAX + 1];
	const char *field[FIELDS_MAX]; /* absent fields are "" */
};

/*
 * Compares the XOR of the characters between `from` and the mark with the two hexadecimal digits after the mark; true
 * if there is no mark.
 */
static bool sum_fits(const char *from, char mark)
{
	static const char digits[] = "0123456789ABCDEF0123456789abcdef";
	const char *end = strrchr(from, mark), *high, *low;
	unsigned char v = 0;

	if (!end)
		return true;
	for (const char *s = from; s < end; s++)
		v ^= (unsigned char)*s;
	high = end[1] ? strchr(digits, end[1]) : NULL;
	low = end[1] && end[2] ? strchr(digits, end[2]) : NULL;
	return high && low && ((high - digits) & 15) == v >> 4 && ((low - digits) & 15) == (v & 15);
}

static void split(struct sentence *s, char mark)
{
	char *at = s->text, *end = strrchr(s->text, mark);

	if (end)
		*end = '\0';
	for (unsigned i = 0; i < FIELDS_MAX; i++) {
		char *comma = strchr(at, ',');

		s->field[i] = at;
		if (comma)
			*comma = '\0';
		at = comma ? comma + 1 : at + strlen(at);
	}
}

/* "-12.5", without an exponent; an empty field is 0. */
static bool number(const char *s, double *ret)
{
	*ret = 0;
	return !*s || (!s[strspn(s, "+-.0123456789")] && number_f64(s, ret) == 0);
}

/* dddmm.mmmmmm and a letter, to degrees. */
static bool angle(const char *s, const char *letter, char negative, double max, double *ret)
{
	double v, deg;

	if (!number(s, &v) || v < 0)
		return false;
	deg = floor(v / 100);
	deg += (v - deg * 100) / 60;
	*ret = *letter == negative ? -deg : deg;
	return deg <= max;
}

static int gga(struct sentence *s, struct sim_Gps *m)
{
	static const int8_t of_quality[] = { SIM_GPS_STATUS_NO_FIX, SIM_GPS_STATUS_FIX,      SIM_GPS_STATUS_SBAS_FIX,
					     SIM_GPS_STATUS_FIX,    SIM_GPS_STATUS_GBAS_FIX, SIM_GPS_STATUS_GBAS_FIX };
	double altitude, undulation, quality;

	if (!sum_fits(s->text + 1, '*'))
		return -EBADMSG;
	split(s, '*');
	if (!angle(s->field[2], s->field[3], 'S', 90, &m->latitude) ||
	    !angle(s->field[4], s->field[5], 'W', 180, &m->longitude) || !number(s->field[6], &quality) ||
	    !number(s->field[9], &altitude) || !number(s->field[11], &undulation))
		return -EBADMSG;
	m->altitude = altitude + undulation; /* from above sea level to above the ellipsoid */
	m->status = quality >= 0 && quality < sizeof(of_quality) ? of_quality[(int)quality] : SIM_GPS_STATUS_FIX;
	return 0;
}

/*
 * Roll (right side down), pitch (nose up) and heading (clockwise from north), in degrees. It has no position, so it is
 * no fix.
 */
static int insatt(struct sentence *s, struct sim_Gps *m)
{
	double roll, pitch, heading, cr, sr, cp, sp, cy, sy;

	if (!sum_fits(s->text, '@'))
		return -EBADMSG;
	split(s, '@');
	if (!number(s->field[4], &roll) || !number(s->field[5], &pitch) || !number(s->field[6], &heading))
		return -EBADMSG;
	cr = cos(roll / 2 * RAD_PER_DEG), sr = sin(roll / 2 * RAD_PER_DEG);
	cp = cos(-pitch / 2 * RAD_PER_DEG), sp = sin(-pitch / 2 * RAD_PER_DEG);
	cy = cos((90 - heading) / 2 * RAD_PER_DEG), sy = sin((90 - heading) / 2 * RAD_PER_DEG);
	m->orientation = (struct sim_Quaternion){ .x = sr * cp * cy - cr * sp * sy,
						  .y = cr * sp * cy + sr * cp * sy,
						  .z = cr * cp * sy - sr * sp * cy,
						  .w = cr * cp * cy + sr * sp * sy };
	m->status = SIM_GPS_STATUS_NO_FIX;
	return 0;
}

MAP_IN(nmea_msgs, Sentence, Gps)
{
	struct sentence s;
	const char *text;
	size_t len;
	int r = 1;

	START(Gps);
	map_in_header(d, to);
	text = sim_dec_string(d, "sentence", SENTENCE_MAX, &len);
	map_in_copy(s.text, text, len);
	s.text[len] = '\0';
	s.text[strcspn(s.text, "\r\n")] = '\0';
	if (s.text[0] == '$' && strlen(s.text) > 7 && strncmp(s.text + 3, "GGA,", 4) == 0)
		r = gga(&s, m);
	else if (strncmp(s.text, "QQ02C,INSATT,", 13) == 0)
		r = insatt(&s, m);
	return r ? r : map_in_finish(&builder, to);
}
