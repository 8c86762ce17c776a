/* SPDX-License-Identifier: Apache-2.0 */
/* See apollo_frames.h. */
#include "apollo_frames.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "map_private.h"
#include "sim/msg/CanBus.h"
#include "sim/msg/Detected3DObject.h"
#include "sim/msg/Gear.h"
#include "sim/msg/RadarObject.h"
#include "sim/msg/VehicleMode.h"

#define GPS_EPOCH_S INT64_C(315964800) /* 1980-01-06 */
#define NS_PER_S    INT64_C(1000000000)
/* Apollo's localization adds this to GPS time to get Unix time (right before 2017) */
#define APOLLO_S INT64_C(315964783)

double apollo_seconds(int64_t ns)
{
	return (double)(ns / NS_PER_S) + (double)(ns % NS_PER_S) / 1e9;
}

int64_t apollo_gps_ns(int64_t unix_ns)
{
	/* Unix times after which one more leap second counts */
	static const int64_t leap[] = { 362793600, 394329600,  425865600,  489024000,  567993600,  631152000,
					662688000, 709948800,  741484800,  773020800,  820454400,  867715200,
					915148800, 1136073600, 1230768000, 1341100800, 1435708800, 1483228800 };
	int64_t n = 0;

	if (unix_ns < GPS_EPOCH_S * NS_PER_S)
		return unix_ns - APOLLO_S * NS_PER_S;
	while (n < (int64_t)(sizeof(leap) / sizeof(leap[0])) && unix_ns / NS_PER_S >= leap[n])
		n++;
	return unix_ns - (GPS_EPOCH_S - n) * NS_PER_S;
}

struct sim_Vector3 apollo_rfu(const struct sim_Vector3 *v)
{
	return (struct sim_Vector3){ .x = -v->y, .y = v->x, .z = v->z };
}

struct sim_Quaternion apollo_turn(const struct sim_Quaternion *q)
{
	double s = sqrt(0.5);

	return (struct sim_Quaternion){
		.x = s * (q->x - q->y), .y = s * (q->x + q->y), .z = s * (q->z - q->w), .w = s * (q->w + q->z)
	};
}

struct sim_Quaternion apollo_turned(const struct sim_Quaternion *q)
{
	double s = sqrt(0.5);

	return (struct sim_Quaternion){
		.x = s * (q->x - q->y), .y = s * (q->y + q->x), .z = s * (q->z + q->w), .w = s * (q->w - q->z)
	};
}

struct sim_Vector3 apollo_flu(const struct sim_Vector3 *v)
{
	return (struct sim_Vector3){ .x = v->y, .y = -v->x, .z = v->z };
}

struct sim_Quaternion apollo_turn_back(const struct sim_Quaternion *q)
{
	double s = sqrt(0.5);

	return (struct sim_Quaternion){
		.x = s * (q->x + q->y), .y = s * (q->y - q->x), .z = s * (q->z + q->w), .w = s * (q->w - q->z)
	};
}

struct sim_Quaternion apollo_turned_back(const struct sim_Quaternion *q)
{
	double s = sqrt(0.5);

	return (struct sim_Quaternion){
		.x = s * (q->x + q->y), .y = s * (q->y - q->x), .z = s * (q->z - q->w), .w = s * (q->w + q->z)
	};
}

struct sim_Vector3 apollo_to_map(const struct sim_Quaternion *q, const struct sim_Vector3 *v)
{
	struct sim_Quaternion back = { .x = -q->x, .y = -q->y, .z = -q->z, .w = q->w };

	return map_to_body(&back, v);
}

double apollo_heading(const struct sim_Quaternion *q)
{
	return atan2(2 * (q->w * q->z + q->x * q->y), 1 - 2 * (q->y * q->y + q->z * q->z));
}

double apollo_compass(const struct sim_Quaternion *q)
{
	double deg = 90 - apollo_heading(q) * APOLLO_DEG_PER_RAD;

	return deg < 0 ? deg + 360 : deg;
}

struct sim_Vector3 apollo_euler(const struct sim_Quaternion *flu)
{
	struct sim_Quaternion q = apollo_turn(flu);
	double sine = 2 * (q.y * q.z + q.w * q.x);

	return (struct sim_Vector3){
		.x = atan2(2 * (q.w * q.y - q.x * q.z), 1 - 2 * (q.x * q.x + q.y * q.y)),
		.y = asin(sine < -1  ? -1
			  : sine > 1 ? 1
				     : sine),
		.z = atan2(2 * (q.w * q.z - q.x * q.y), 1 - 2 * (q.x * q.x + q.z * q.z)),
	};
}

static struct sim_Quaternion product(const struct sim_Quaternion *a, const struct sim_Quaternion *b)
{
	return (struct sim_Quaternion){ .x = a->w * b->x + a->x * b->w + a->y * b->z - a->z * b->y,
					.y = a->w * b->y - a->x * b->z + a->y * b->w + a->z * b->x,
					.z = a->w * b->z + a->x * b->y - a->y * b->x + a->z * b->w,
					.w = a->w * b->w - a->x * b->x - a->y * b->y - a->z * b->z };
}

struct sim_Quaternion apollo_of_euler(const struct sim_Vector3 *e)
{
	struct sim_Quaternion roll = { .y = sin(e->x / 2), .w = cos(e->x / 2) };
	struct sim_Quaternion pitch = { .x = sin(e->y / 2), .w = cos(e->y / 2) };
	struct sim_Quaternion yaw = { .z = sin(e->z / 2), .w = cos(e->z / 2) };
	struct sim_Quaternion q = product(&pitch, &roll);

	q = product(&yaw, &q);
	return apollo_turn_back(&q);
}

static float or_0(float v)
{
	return isfinite(v) ? v : 0;
}

void apollo_finish_chassis(struct sim_CanBus *m, int32_t mode, int32_t gear)
{
	m->engine_rpm = or_0(m->engine_rpm);
	m->speed = or_0(m->speed);
	m->throttle = or_0(m->throttle / 100);
	m->braking = or_0(m->braking / 100);
	m->steering = or_0(m->steering / 100);
	/* the enums have the same values, of mode and gear */
	m->mode = mode >= 0 && mode <= SIM_VEHICLE_MODE_EMERGENCY ? (uint8_t)mode : SIM_VEHICLE_MODE_MANUAL;
	m->gear = gear >= 0 && gear <= SIM_GEAR_LOW ? (uint8_t)gear : SIM_GEAR_NONE;
	m->in_reverse = m->gear == SIM_GEAR_REVERSE;
}

float apollo_confidence(double confidence)
{
	return confidence >= 0 && confidence <= 1 ? (float)confidence : 0;
}

double apollo_deviation(double variance)
{
	return variance > 0 ? sqrt(variance) : 0;
}

#define UNKNOWN_M 0.01

struct sim_Vector3 apollo_deviations(const double c[9])
{
	if (c[0] == 0 && c[4] == 0 && c[8] == 0)
		return (struct sim_Vector3){ .x = UNKNOWN_M, .y = UNKNOWN_M, .z = UNKNOWN_M };
	return (struct sim_Vector3){ .x = apollo_deviation(c[0]),
				     .y = apollo_deviation(c[4]),
				     .z = apollo_deviation(c[8]) };
}

double apollo_dot(const struct sim_Vector3 *a, const struct sim_Vector3 *b)
{
	return a->x * b->x + a->y * b->y + a->z * b->z;
}

#define STANDS_MPS 0.1 /* slower objects have no direction */

double apollo_radar_orientation(const struct sim_RadarObject *r)
{
	double ahead = apollo_dot(&r->velocity, &r->sensor_aim), left = -apollo_dot(&r->velocity, &r->sensor_right);

	return hypot(ahead, left) < STANDS_MPS ? 0 : atan2(left, ahead) * APOLLO_DEG_PER_RAD;
}

static const struct {
	const char *label;
	struct apollo_kind kind;
} kinds[] = { { "Car", { 5, 3 } },          { "Pedestrian", { 3, 10 } }, { "Bicycle", { 4, 7 } },
	      { "Motorcycle", { 4, 8 } },   { "Truck", { 5, 5 } },       { "Bus", { 5, 6 } },
	      { "Van", { 5, 4 } },          { "Unknown", { 0, 0 } },     { "", { 0, 0 } },
	      { "Animal", { 0, 0 } },       { "Hazard", { 0, 0 } },      { "BoxTruck", { 5, 5 } },
	      { "Trailer", { 5, 5 } },      { "SchoolBus", { 5, 6 } },   { "OverDrivable", { 0, 0 } },
	      { "UnderDrivable", { 0, 0 } } };
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Any label not in the table is a car. */
struct apollo_kind apollo_kind_of(const void *body, size_t size, const struct sim_Detected3DObject *o)
{
	char label[sizeof("UnderDrivable") + 1] = ""; /* a copy, terminated: the publisher may still change it */

	strncpy(label, sim_Detected3DObject_label_in(body, size, o), sizeof(label) - 1);
	for (size_t i = 0; i < N_KINDS; i++)
		if (strcasecmp(kinds[i].label, label) == 0)
			return kinds[i].kind;
	return kinds[0].kind;
}

/* By sub type; without one, the first label of the type. */
const char *apollo_label_of(struct apollo_kind kind)
{
	for (size_t i = 0; kind.sub_type && i < N_KINDS; i++)
		if (kinds[i].kind.sub_type == kind.sub_type)
			return kinds[i].label;
	for (size_t i = 0; i < N_KINDS; i++)
		if (kinds[i].kind.type == kind.type)
			return kinds[i].label;
	return "Unknown";
}
