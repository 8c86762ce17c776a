/* SPDX-License-Identifier: Apache-2.0 */
/* Commands and detections that come in: see unmap.h. */
#include "unmap.h"

#include <errno.h>

#include "sim/msg/Detected2DObjects.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/EmergencyCommand.h"
#include "sim/msg/EngageCommand.h"
#include "sim/msg/Gear.h"
#include "sim/msg/GearCommand.h"
#include "sim/msg/HazardCommand.h"
#include "sim/msg/Turn.h"
#include "sim/msg/TurnCommand.h"
#include "sim/msg/VehicleControl.h"
#include "sim/msg/VehicleMode.h"
#include "sim/msg/VehicleState.h"

#define LABEL_MAX 63u

/* struct sim_T *m = START(T): a zeroed message at the start of buf, or -ENOBUFS is returned */
#define START(T) \
	struct sim_builder builder; \
	struct sim_##T *m = sim_##T##_init(buf, room, &builder); \
	if (!m) \
	return -ENOBUFS

static int finish(const struct sim_builder *b, size_t *ret_size)
{
	*ret_size = sim_builder_size(b);
	return sim_builder_error(b);
}

/* ---- Autoware ---- */

static void lateral(struct dec *d, struct sim_VehicleControl *m)
{
	dec_time(d);
	dec_time(d);
	m->steer_angle = dec_f32(d);
	m->steer_angular_velocity = dec_f32(d);
	m->present |= SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE;
	if (dec_bool(d))
		m->present |= SIM_VEHICLE_CONTROL_HAS_STEER_ANGULAR_VELOCITY;
}

static void longitudinal(struct dec *d, struct sim_VehicleControl *m)
{
	dec_time(d);
	dec_time(d);
	m->velocity = dec_f32(d);
	m->target_acceleration = dec_f32(d);
	m->jerk = dec_f32(d);
	m->present |= SIM_VEHICLE_CONTROL_HAS_VELOCITY;
	if (dec_bool(d))
		m->present |= SIM_VEHICLE_CONTROL_HAS_TARGET_ACCELERATION;
	if (dec_bool(d))
		m->present |= SIM_VEHICLE_CONTROL_HAS_JERK;
}

static int read_control(struct dec *d, void *buf, size_t room, size_t *ret_size)
{
	START(VehicleControl);

	m->stamp = dec_time(d);
	m->present = SIM_VEHICLE_CONTROL_HAS_STAMP;
	dec_time(d);
	lateral(d, m);
	longitudinal(d, m);
	return finish(&builder, ret_size);
}

static int read_gear(struct dec *d, void *buf, size_t room, size_t *ret_size)
{
	uint8_t gear;

	START(GearCommand);
	m->stamp = dec_time(d);
	gear = dec_u8(d);
	if (gear == 0)
		return 1;
	m->gear = gear == 1    ? SIM_GEAR_NEUTRAL
		  : gear <= 19 ? SIM_GEAR_DRIVE
		  : gear <= 21 ? SIM_GEAR_REVERSE
		  : gear == 22 ? SIM_GEAR_PARKING
			       : SIM_GEAR_LOW;
	return gear > 24 ? -ERANGE : finish(&builder, ret_size);
}

static int read_turn(struct dec *d, void *buf, size_t room, size_t *ret_size)
{
	static const uint8_t turns[] = { 0, SIM_TURN_OFF, SIM_TURN_LEFT, SIM_TURN_RIGHT };
	uint8_t v;

	START(TurnCommand);
	m->stamp = dec_time(d);
	v = dec_u8(d);
	if (v >= sizeof(turns))
		return -ERANGE;
	m->turn = turns[v];
	return v == 0 ? 1 : finish(&builder, ret_size);
}

static int read_hazard(struct dec *d, void *buf, size_t room, size_t *ret_size)
{
	uint8_t v;

	START(HazardCommand);
	m->stamp = dec_time(d);
	v = dec_u8(d);
	m->on = v == 2;
	return v > 2 ? -ERANGE : v == 0 ? 1 : finish(&builder, ret_size);
}

static int read_emergency(struct dec *d, void *buf, size_t room, size_t *ret_size)
{
	START(EmergencyCommand);
	m->stamp = dec_time(d);
	m->emergency = dec_bool(d);
	return finish(&builder, ret_size);
}

static int read_engage(struct dec *d, void *buf, size_t room, size_t *ret_size)
{
	START(EngageCommand);
	m->stamp = dec_time(d);
	m->engage = dec_bool(d);
	return finish(&builder, ret_size);
}

/* ---- SVL ---- */

static float share(struct dec *d)
{
	float v = dec_f32(d);

	if (v < 0 || v > 1)
		dec_fail(d, -ERANGE);
	return v;
}

static uint8_t at_most(struct dec *d, uint8_t max)
{
	uint8_t v = dec_u8(d);

	if (v > max)
		dec_fail(d, -ERANGE);
	return v;
}

static int read_lgsvl_control(struct dec *d, void *buf, size_t room, size_t *ret_size)
{
	START(VehicleControl);
	m->stamp = dec_header(d);
	m->acceleration = share(d);
	m->braking = share(d);
	m->steer_angle = -dec_f32(d); /* theirs is positive to the right */
	m->steer_angular_velocity = -dec_f32(d);
	m->target_gear = at_most(d, SIM_GEAR_LOW);
	m->present = SIM_VEHICLE_CONTROL_HAS_STAMP | SIM_VEHICLE_CONTROL_HAS_ACCELERATION |
		     SIM_VEHICLE_CONTROL_HAS_BRAKING | SIM_VEHICLE_CONTROL_HAS_STEER_ANGLE |
		     SIM_VEHICLE_CONTROL_HAS_STEER_ANGULAR_VELOCITY | SIM_VEHICLE_CONTROL_HAS_TARGET_GEAR;
	return finish(&builder, ret_size);
}

static int read_lgsvl_state(struct dec *d, void *buf, size_t room, size_t *ret_size)
{
	START(VehicleState);
	m->stamp = dec_header(d);
	m->blinker = at_most(d, SIM_TURN_HAZARD);
	m->headlight = at_most(d, SIM_VEHICLE_STATE_HEADLIGHT_HIGH);
	m->wiper = at_most(d, SIM_VEHICLE_STATE_WIPER_HIGH);
	m->gear = at_most(d, SIM_GEAR_LOW);
	m->mode = at_most(d, SIM_VEHICLE_MODE_EMERGENCY);
	m->hand_brake = dec_bool(d);
	m->horn = dec_bool(d);
	m->autonomous = dec_bool(d);
	return finish(&builder, ret_size);
}

static struct sim_Vector3 vector(struct dec *d)
{
	double x = dec_f64(d), y = dec_f64(d), z = dec_f64(d);

	return (struct sim_Vector3){ .x = x, .y = y, .z = z };
}

/* Strings lie behind the array of objects: the builder grows while they are read. */
static void label(struct dec *d, struct sim_builder *b, struct sim_span *span)
{
	size_t len;
	const char *s = dec_string(d, LABEL_MAX, &len);
	char *to = d->err ? NULL : sim_builder_string(b, span, len, LABEL_MAX);

	if (to && len)
		memcpy(to, s, len);
}

/* least bytes of a Detection on the wire: stamp, two empty strings, id, score, box, two vectors */
#define DETECTION2D_MIN (8 + 4 + 4 + 4 + 4 + 16 + 48)
#define DETECTION3D_MIN (8 + 4 + 4 + 4 + 4 + 80 + 48)

static int read_2d(struct dec *d, void *buf, size_t room, size_t *ret_size)
{
	struct sim_Detected2DObject *o;
	uint32_t n;

	START(Detected2DObjects);
	dec_header(d);
	n = dec_count(d, DETECTION2D_MIN);
	o = sim_Detected2DObjects_objects_alloc_in(&builder, m, n);
	for (uint32_t i = 0; o && i < n && !d->err; i++) {
		dec_header(d);
		o[i].id = dec_u32(d);
		label(d, &builder, &o[i].label);
		o[i].score = dec_f32(d);
		o[i].center_x = dec_f32(d);
		o[i].center_y = dec_f32(d);
		o[i].width = dec_f32(d);
		o[i].height = dec_f32(d);
		o[i].linear_velocity = vector(d);
		o[i].angular_velocity = vector(d);
	}
	return finish(&builder, ret_size);
}

static int read_3d(struct dec *d, void *buf, size_t room, size_t *ret_size)
{
	struct sim_Detected3DObject *o;
	uint32_t n;

	START(Detected3DObjects);
	dec_header(d);
	n = dec_count(d, DETECTION3D_MIN);
	o = sim_Detected3DObjects_objects_alloc_in(&builder, m, n);
	for (uint32_t i = 0; o && i < n && !d->err; i++) {
		dec_header(d);
		o[i].id = dec_u32(d);
		label(d, &builder, &o[i].label);
		o[i].score = dec_f32(d);
		o[i].pose.position = vector(d);
		o[i].pose.orientation.x = dec_f64(d);
		o[i].pose.orientation.y = dec_f64(d);
		o[i].pose.orientation.z = dec_f64(d);
		o[i].pose.orientation.w = dec_f64(d);
		o[i].size = vector(d);
		o[i].velocity.linear = vector(d);
		o[i].velocity.angular = vector(d);
	}
	return finish(&builder, ret_size);
}

const struct unmap unmap_table[] = {
	{ "autoware_control_msgs/Control", "sim/VehicleControl", read_control },
	{ "autoware_vehicle_msgs/GearCommand", "sim/GearCommand", read_gear },
	{ "autoware_vehicle_msgs/TurnIndicatorsCommand", "sim/TurnCommand", read_turn },
	{ "autoware_vehicle_msgs/HazardLightsCommand", "sim/HazardCommand", read_hazard },
	{ "tier4_vehicle_msgs/VehicleEmergencyStamped", "sim/EmergencyCommand", read_emergency },
	{ "autoware_vehicle_msgs/Engage", "sim/EngageCommand", read_engage },
	{ "lgsvl_msgs/VehicleControlData", "sim/VehicleControl", read_lgsvl_control },
	{ "lgsvl_msgs/VehicleStateData", "sim/VehicleState", read_lgsvl_state },
	{ "lgsvl_msgs/Detection2DArray", "sim/Detected2DObjects", read_2d },
	{ "lgsvl_msgs/Detection3DArray", "sim/Detected3DObjects", read_3d },
	{ NULL, NULL, NULL },
};

const struct unmap *unmap_find(const char *ros)
{
	for (const struct unmap *m = unmap_table; m->ros; m++) {
		size_t package = strcspn(m->ros, "/") + 1;
		const char *name = ros + package;

		if (strncmp(m->ros, ros, package) != 0)
			continue;
		if (strcmp(m->ros + package, strncmp(name, "msg/", 4) == 0 ? name + 4 : name) == 0)
			return m;
	}
	return NULL;
}

int unmap_read(const struct unmap *m, enum wire_format format, const void *data, size_t len, void *buf, size_t room,
	       size_t *ret_size)
{
	struct dec d;
	size_t size = 0;
	int r, e;

	dec_begin(&d, format, data, len);
	r = m->read(&d, buf, room, &size);
	e = dec_end(&d);
	if (r == -ERANGE && e == -EBADMSG)
		r = e; /* what is malformed has no meaning to be out of range */
	if (r >= 0 && e < 0)
		r = e;
	if (r == 0)
		*ret_size = size;
	return r;
}
