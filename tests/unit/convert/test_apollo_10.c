/* SPDX-License-Identifier: Apache-2.0 */
/* Apollo's messages by value. */
#include "support/test.h"

#include <errno.h>
#include <math.h>

#include "apollo_in.h"
#include "apollo_peer.h"
#include "cyber/proto/clock.pb-c.h"
#include "modules/common_msgs/basic_msgs/detection2darray.pb-c.h"
#include "modules/common_msgs/chassis_msgs/chassis.pb-c.h"
#include "modules/common_msgs/perception_msgs/perception_lane.pb-c.h"
#include "modules/common_msgs/perception_msgs/perception_obstacle.pb-c.h"
#include "modules/common_msgs/perception_msgs/traffic_light_detection.pb-c.h"
#include "modules/common_msgs/sensor_msgs/conti_radar.pb-c.h"
#include "modules/common_msgs/sensor_msgs/pointcloud.pb-c.h"
#include "modules/common_msgs/sensor_msgs/sensor_image.pb-c.h"
#include "modules/common_msgs/sensor_msgs/ultrasonic_radar.pb-c.h"
#include "sim/msg/CanBus.h"
#include "sim/msg/Clock.h"
#include "sim/msg/CompressedImage.h"
#include "sim/msg/Detected2DObjects.h"
#include "sim/msg/Detected3DObjects.h"
#include "sim/msg/Gear.h"
#include "sim/msg/Image.h"
#include "sim/msg/LaneLines.h"
#include "sim/msg/RadarObjects.h"
#include "sim/msg/TrafficSignals.h"
#include "sim/msg/LaserScan.h"
#include "sim/msg/Ultrasonic.h"
#include "sim/msg/VehicleMode.h"
#include "sim/point_cloud.h"

const enum apollo_release apollo_family = APOLLO_10;

#define STAMP INT64_C(1700000000250000000)

static struct apollo_body body;

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-6 * (1 + fabs(b));
}
#define START(T)      sim_##T##_init(body.bytes, sizeof(body.bytes), &body.b)
#define READ(T, name) apollo_peer_read_body(&body, "sim/" #T, name, STAMP, NULL)

TEST(a_clock_is_nanoseconds_and_needs_no_definition)
{
	struct iovec files[APOLLO_FILES_MAX];
	Apollo__Cyber__Proto__Clock *c;

	sim_Clock_init(body.bytes, sizeof(body.bytes), &body.b)->clock = STAMP;
	c = apollo_peer_read_body(&body, "sim/Clock", "apollo.cyber.proto.Clock", 0, NULL);
	assert_int_equal(c->clock, STAMP);
	assert_int_equal(apollo_type_files(apollo_type_for(APOLLO_10, "sim/Clock", NULL), files), 0);
	assert_string_equal(apollo_type_channel(apollo_type_for(APOLLO_10, "sim/Clock", NULL)), "/clock");
}

TEST(an_image_keeps_its_bytes_and_its_capture_time)
{
	struct apollo_options o = { .frame = "front_6mm" };
	struct sim_Image *m = sim_Image_init(body.bytes, sizeof(body.bytes), &body.b);
	Apollo__Drivers__Image *i;
	uint8_t *data;

	m->height = 40;
	m->width = 60;
	m->step = 180;
	sim_Image_encoding_set(&body.b, "rgb8");
	data = sim_Image_data_alloc(&body.b, 7200);
	memset(data, 0x5a, 7200);
	data[7199] = 3;
	i = apollo_peer_read_body(&body, "sim/Image", "apollo.drivers.Image", STAMP, &o);
	assert_true(i->header->timestamp_sec == 1700000000.25 && i->measurement_time == 1700000000.25);
	assert_int_equal(i->header->sequence_num, 7);
	assert_int_equal(i->header->camera_timestamp, STAMP);
	assert_string_equal(i->header->frame_id, "front_6mm");
	assert_string_equal(i->frame_id, "front_6mm");
	assert_string_equal(i->encoding, "rgb8");
	assert_int_equal(i->width, 60);
	assert_int_equal(i->height, 40);
	assert_int_equal(i->step, 180);
	assert_int_equal(i->data.len, 7200);
	assert_int_equal(i->data.data[7199], 3);
}

TEST(a_compressed_image_has_the_format_jpg)
{
	struct sim_CompressedImage *m = sim_CompressedImage_init(body.bytes, sizeof(body.bytes), &body.b);
	Apollo__Drivers__CompressedImage *i;

	m->height = 40;
	m->width = 60;
	sim_CompressedImage_format_set(&body.b, "jpeg");
	memset(sim_CompressedImage_data_alloc(&body.b, 9), 1, 9);
	i = apollo_peer_read_body(&body, "sim/CompressedImage", "apollo.drivers.CompressedImage", STAMP, NULL);
	assert_string_equal(i->format, "jpg");
	assert_int_equal(i->data.len, 9);
	assert_int_equal(i->width, 60);
	assert_string_equal(i->frame_id, "sensor");
}

/* ---- lidar, radar ---- */

TEST(points_without_a_hit_are_left_out_and_the_others_have_their_times)
{
	struct sim_Point *p = sim_point_cloud_begin(body.bytes, sizeof(body.bytes), 3, &body.b);
	Apollo__Drivers__PointCloud *c;

	if (!p) {
		fail();
		return;
	}
	memset(p, 0, 3 * sizeof(*p));
	p[0] = (struct sim_Point){ .x = 1, .y = -2, .z = 3, .intensity = 0.5f, .time_offset = 1000 };
	p[2] = (struct sim_Point){ .x = 4, .intensity = 1 };
	c = READ(PointCloud, "apollo.drivers.PointCloud");
	assert_int_equal(c->n_point, 2);
	assert_int_equal(c->width, 2);
	assert_int_equal(c->height, 1);
	assert_true(near((double)c->point[0]->y, -2) && c->point[0]->intensity == 127);
	assert_int_equal(c->point[0]->timestamp, STAMP + 1000);
	assert_int_equal(c->point[1]->timestamp, STAMP);
	assert_int_equal(c->header->lidar_timestamp, STAMP);
}

/* One hit ahead, one to the left, and one ray without a hit; 0.5 s from ray to ray. */
TEST(a_planar_scan_becomes_a_cloud_of_its_hits)
{
	struct sim_LaserScan *m = START(LaserScan);
	Apollo__Drivers__PointCloud *c;
	float *v;

	m->angle_increment = (float)(M_PI / 2);
	m->range_min = 0.5f;
	m->range_max = 10;
	m->time_increment = 500000000;
	v = sim_LaserScan_ranges_alloc(&body.b, 4);
	memcpy(v, (const float[]){ 2, 4, INFINITY, 0.25f }, 4 * sizeof(*v));
	v = sim_LaserScan_intensities_alloc(&body.b, 4);
	memcpy(v, (const float[]){ 0.5f, 1, 0, 1 }, 4 * sizeof(*v));
	c = READ(LaserScan, "apollo.drivers.PointCloud");
	assert_int_equal(c->n_point, 2);
	assert_int_equal(c->width, 2);
	assert_true(near((double)c->point[0]->x, 2) && c->point[0]->intensity == 127);
	assert_true(fabsf(c->point[1]->x) < 1e-6f && near((double)c->point[1]->y, 4));
	assert_int_equal(c->point[1]->intensity, 255);
	assert_int_equal(c->point[0]->timestamp, STAMP);
	assert_int_equal(c->point[1]->timestamp, STAMP + 500000000);
	assert_int_equal(c->header->lidar_timestamp, STAMP);
}

static int encode(const char *sim_type, char why[200])
{
	struct apollo_message in = { .body = body.bytes, .size = body.b.used, .frame_id = "" };
	struct iov_buf o;
	int r;

	iov_buf_init(&o);
	r = apollo_encode(apollo_type_for(APOLLO_10, sim_type, NULL), &in, &o, why, 200);
	iov_buf_finish(&o);
	return r;
}

TEST(clouds_and_images_with_mismatched_sizes_are_refused)
{
	char why[200];
	struct sim_PointCloud *c;
	struct sim_Image *i;

	sim_point_cloud_begin(body.bytes, sizeof(body.bytes), 3, &body.b);
	c = (struct sim_PointCloud *)(void *)body.bytes;
	c->width = 4;
	assert_int_equal(encode("sim/PointCloud", why), -EBADMSG);
	assert_non_null(strstr(why, "4 by 1 points"));
	c->width = 3;
	c->fields.count = 2;
	assert_int_equal(encode("sim/PointCloud", why), -ENOTSUP);
	assert_non_null(strstr(why, "float32"));
	i = START(Image);
	i->height = i->step = 10;
	assert_int_equal(encode("sim/Image", why), -EBADMSG);
	assert_non_null(strstr(why, "10 rows"));
}

/* The vehicle looks north; an object ahead to the left of it is north-west. */
TEST(radar_objects_have_position_and_velocity_ahead_and_left)
{
	struct sim_RadarObject *r;
	Apollo__Drivers__ContiRadarObs *o;

	START(RadarObjects);
	r = sim_RadarObjects_objects_alloc(&body.b, 1);
	memset(r, 0, sizeof(*r));
	r->sensor_aim.y = 1;
	r->sensor_right.x = 1;
	r->relative_position = (struct sim_Vector3){ .x = -3, .y = 20 };
	r->relative_velocity = (struct sim_Vector3){ .x = 1, .y = -5 };
	r->velocity = (struct sim_Vector3){ .x = 2 }; /* eastwards: to the right */
	r->size = (struct sim_Vector3){ .x = 8, .y = 2.5 };
	r->id = 12;
	r->state = SIM_RADAR_OBJECT_STATE_STATIONARY;
	o = ((Apollo__Drivers__ContiRadar *)READ(RadarObjects, "apollo.drivers.ContiRadar"))->contiobs[0];
	assert_true(near(o->longitude_dist, 20) && near(o->lateral_dist, 3));
	assert_true(near(o->longitude_vel, -5) && near(o->lateral_vel, -1));
	assert_true(near(o->oritation_angle, -90) && near(o->length, 8));
	assert_int_equal(o->obstacle_id, 12);
	assert_int_equal(o->dynprop, 1);
	assert_int_equal(o->meas_state, 2);
	assert_int_equal(o->obstacle_class, 2);
}

/* As Apollo's own detector handles it, and as it is received over ROS. */
TEST(an_inbound_radar_object_without_a_position_is_kept)
{
	Apollo__Drivers__ContiRadarObs obs = APOLLO__DRIVERS__CONTI_RADAR_OBS__INIT, *all[] = { &obs };
	Apollo__Drivers__ContiRadar radar = APOLLO__DRIVERS__CONTI_RADAR__INIT;
	const struct sim_RadarObject *r;
	uint32_t n;

	radar.contiobs = all;
	radar.n_contiobs = 1;
	obs.has_obstacle_id = obs.has_longitude_dist = obs.has_lateral_dist = obs.has_length = true;
	obs.obstacle_id = 7;
	obs.longitude_dist = obs.length = NAN;
	obs.lateral_dist = 2;
	assert_int_equal(apollo_peer_decode(&radar.base, "apollo.drivers.ContiRadar", NULL, NULL, &body), 0);
	r = sim_RadarObjects_objects(sim_RadarObjects_from(body.bytes, body.b.used), body.b.used, &n);
	assert_int_equal(n, 1);
	assert_int_equal(r->id, 7);
	assert_true(isnan(r->position.x) && isnan(r->size.x) && r->relative_position.y == 2);
}

TEST(an_ultrasonic_sensor_has_one_range_or_an_empty_list)
{
	struct sim_Ultrasonic *m = START(Ultrasonic);

	m->minimum_distance = 0.75f;
	assert_true(
		near((double)((Apollo__Drivers__Ultrasonic *)READ(Ultrasonic, "apollo.drivers.Ultrasonic"))->ranges[0],
		     0.75));
	m->minimum_distance = -1;
	assert_int_equal(((Apollo__Drivers__Ultrasonic *)READ(Ultrasonic, "apollo.drivers.Ultrasonic"))->n_ranges, 0);
}

/* ---- objects around ---- */

TEST(an_obstacle_is_in_the_map_with_its_corners)
{
	static const double origin[3] = { 500000, 4000000, 10 };
	struct apollo_options o = { .origin = origin };
	Apollo__Perception__PerceptionObstacle *p;
	struct sim_Detected3DObject *m;

	START(Detected3DObjects);
	m = sim_Detected3DObjects_objects_alloc(&body.b, 1);
	memset(m, 0, sizeof(*m));
	m->id = 5;
	m->map_position = (struct sim_Vector3){ .x = 10, .y = 20, .z = 1 };
	m->map_velocity.y = 3;
	m->map_acceleration.x = -1;
	m->heading = M_PI / 2;
	m->size = (struct sim_Vector3){ .x = 4, .y = 2, .z = 1.5 };
	m->tracking_time = 2500000000;
	m->score = 0.5f;
	sim_Detected3DObject_label_set_in(&body.b, m, "Bus");
	p = ((Apollo__Perception__PerceptionObstacles *)apollo_peer_read_body(&body, "sim/Detected3DObjects",
									      "apollo.perception.PerceptionObstacles",
									      STAMP, &o))
		    ->perception_obstacle[0];
	assert_true(near(p->position->x, 500010) && near(p->position->y, 4000020) && near(p->position->z, 11));
	assert_true(near(p->theta, M_PI / 2) && near(p->velocity->y, 3) && near(p->acceleration->x, -1));
	assert_true(near(p->length, 4) && near(p->width, 2) && near(p->height, 1.5));
	assert_int_equal(p->n_polygon_point, 4); /* its front's left is north-west */
	assert_true(near(p->polygon_point[0]->x, 500009) && near(p->polygon_point[0]->y, 4000022));
	assert_true(near(p->polygon_point[2]->x, 500011) && near(p->polygon_point[2]->y, 4000018));
	assert_true(near(p->tracking_time, 2.5) && near(p->timestamp, 1700000000.25) && near(p->confidence, 0.5));
	assert_int_equal(p->type, APOLLO__PERCEPTION__PERCEPTION_OBSTACLE__TYPE__VEHICLE);
	assert_int_equal(p->sub_type, APOLLO__PERCEPTION__PERCEPTION_OBSTACLE__SUB_TYPE__ST_BUS);
}

static bool unknown(const struct sim_Quaternion *q)
{
	return q->x == 0 && q->y == 0 && q->z == 0 && q->w == 0;
}

/* {0, 0, 0, 0}, as schemas/msg/Quaternion.msg has it, and not a turn to the east. */
TEST(an_inbound_orientation_that_is_unset_stays_unknown)
{
	Apollo__Common__Point3D at = APOLLO__COMMON__POINT3_D__INIT;
	Apollo__Perception__PerceptionObstacle obstacle = APOLLO__PERCEPTION__PERCEPTION_OBSTACLE__INIT,
					       *obstacles[] = { &obstacle };
	Apollo__Perception__PerceptionObstacles seen = APOLLO__PERCEPTION__PERCEPTION_OBSTACLES__INIT;
	Apollo__Perception__TrafficLight light = APOLLO__PERCEPTION__TRAFFIC_LIGHT__INIT, *lights[] = { &light };
	Apollo__Perception__TrafficLightDetection lit = APOLLO__PERCEPTION__TRAFFIC_LIGHT_DETECTION__INIT;
	Apollo__Canbus__Chassis chassis = APOLLO__CANBUS__CHASSIS__INIT;
	uint32_t n;

	at.has_x = at.has_y = at.has_z = obstacle.has_theta = true;
	at.x = at.y = at.z = 1;
	obstacle.position = &at;
	seen.n_perception_obstacle = lit.n_traffic_light = 1;
	seen.perception_obstacle = obstacles;
	lit.traffic_light = lights;
	assert_int_equal(apollo_peer_decode(&seen.base, "apollo.perception.PerceptionObstacles", NULL, NULL, &body), 0);
	assert_true(unknown(
		&sim_Detected3DObjects_objects(sim_Detected3DObjects_from(body.bytes, body.b.used), body.b.used, &n)
			 ->pose.orientation));
	assert_int_equal(apollo_peer_decode(&lit.base, "apollo.perception.TrafficLightDetection", NULL, NULL, &body),
			 0);
	assert_true(
		unknown(&sim_TrafficSignals_signals(sim_TrafficSignals_from(body.bytes, body.b.used), body.b.used, &n)
				 ->pose.orientation));
	assert_int_equal(apollo_peer_decode(&chassis.base, "apollo.canbus.Chassis", NULL, NULL, &body), 0);
	assert_true(unknown(&sim_CanBus_from(body.bytes, body.b.used)->orientation));
}

TEST(a_2d_detection_keeps_its_box_and_its_angular_velocity)
{
	struct sim_Detected2DObject *m;
	Apollo__Common__Detection2D *d;

	START(Detected2DObjects);
	m = sim_Detected2DObjects_objects_alloc(&body.b, 1);
	memset(m, 0, sizeof(*m));
	m->id = 3;
	m->center_x = 100;
	m->center_y = 50;
	m->width = 20;
	m->height = 10;
	m->linear_velocity.x = 7;
	m->angular_velocity.z = 0.25;
	sim_Detected2DObject_label_set_in(&body.b, m, "Car");
	d = ((Apollo__Common__Detection2DArray *)READ(Detected2DObjects, "apollo.common.Detection2DArray"))
		    ->detections[0];
	assert_true(near((double)d->bbox->x, 100) && near((double)d->bbox->height, 10));
	assert_true(near(d->velocity->linear->x, 7) && near(d->velocity->angular->z, 0.25));
	assert_string_equal(d->label, "Car");
	assert_int_equal(d->id, 3);
}

TEST(a_traffic_light_has_its_colour_and_white_is_unknown)
{
	static const uint8_t colors[] = { SIM_TRAFFIC_SIGNAL_COLOR_GREEN, SIM_TRAFFIC_SIGNAL_COLOR_WHITE };
	Apollo__Perception__TrafficLightDetection *t;
	struct sim_TrafficSignal *s;

	START(TrafficSignals);
	s = sim_TrafficSignals_signals_alloc(&body.b, 2);
	memset(s, 0, 2 * sizeof(*s));
	for (int i = 0; i < 2; i++) {
		s[i].color = colors[i];
		s[i].score = 1;
		sim_TrafficSignal_id_set_in(&body.b, &s[i], i ? "two" : "one");
	}
	t = READ(TrafficSignals, "apollo.perception.TrafficLightDetection");
	assert_int_equal(t->n_traffic_light, 2);
	assert_int_equal(t->traffic_light[0]->color, APOLLO__PERCEPTION__TRAFFIC_LIGHT__COLOR__GREEN);
	assert_int_equal(t->traffic_light[1]->color, APOLLO__PERCEPTION__TRAFFIC_LIGHT__COLOR__UNKNOWN);
	assert_string_equal(t->traffic_light[1]->id, "two");
	assert_true(t->contain_lights);
	assert_int_equal(t->header->camera_timestamp, STAMP);
}

/* y = 1.75 - 0.1 x + 0.01 x^2 - 0.001 x^3 to the left is the negative of it to the camera's right. */
TEST(lane_coefficients_are_converted_to_the_camera_frame)
{
	struct sim_LaneLine *l;
	Apollo__Perception__Camera__CameraLaneLine *c;

	START(LaneLines);
	l = sim_LaneLines_lines_alloc(&body.b, 1);
	memset(l, 0, sizeof(*l));
	*l = (struct sim_LaneLine){ .min_x = 3,
				    .max_x = 40,
				    .c0 = 1.75f,
				    .c1 = -0.1f,
				    .c2 = 0.01f,
				    .c3 = -0.001f,
				    .type = SIM_LANE_LINE_TYPE_YELLOW_SOLID,
				    .position = SIM_LANE_LINE_POSITION_EGO_LEFT };
	c = ((Apollo__Perception__PerceptionLanes *)READ(LaneLines, "apollo.perception.PerceptionLanes"))
		    ->camera_laneline[0];
	assert_int_equal(c->type, APOLLO__PERCEPTION__CAMERA__LANE_LINE_TYPE__YELLOW_SOLID);
	assert_int_equal(c->pos_type, APOLLO__PERCEPTION__CAMERA__LANE_LINE_POSITION_TYPE__EGO_LEFT);
	assert_true(near((double)c->curve_camera_coord->longitude_max, 40));
	assert_true(near((double)c->curve_camera_coord->a, (double)0.001f) &&
		    near((double)c->curve_camera_coord->b, (double)-0.01f));
	assert_true(near((double)c->curve_camera_coord->c, (double)0.1f) &&
		    near((double)c->curve_camera_coord->d, -1.75));
}

/* ---- the vehicle ---- */

TEST(a_chassis_has_the_state_of_the_vehicle)
{
	struct apollo_options o = { .vehicle = "MKZ1", .undulation = -30 };
	struct sim_CanBus *m = START(CanBus);
	Apollo__Canbus__Chassis *c;

	*m = (struct sim_CanBus){ .speed = -2,
				  .throttle = 0.25f,
				  .braking = 0.5f,
				  .steering = 0.4f,
				  .altitude = 5,
				  .gear = SIM_GEAR_REVERSE,
				  .mode = SIM_VEHICLE_MODE_AUTO,
				  .parking_brake = true,
				  .low_beam = true,
				  .left_turn_signal = true,
				  .engine_on = true,
				  .orientation = { .w = 1 } };
	c = apollo_peer_read_body(&body, "sim/CanBus", "apollo.canbus.Chassis", STAMP, &o);
	assert_true(near((double)c->throttle_percentage, 25) && near((double)c->brake_percentage, 50));
	assert_true(near((double)c->steering_percentage, (double)(0.4f * 100)) && near((double)c->speed_mps, -2));
	assert_int_equal(c->gear_location, APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_REVERSE);
	assert_int_equal(c->driving_mode, APOLLO__CANBUS__CHASSIS__DRIVING_MODE__COMPLETE_AUTO_DRIVE);
	assert_int_equal(c->error_code, APOLLO__CANBUS__CHASSIS__ERROR_CODE__NO_ERROR);
	assert_true(c->parking_brake && c->low_beam_signal && c->left_turn_signal && c->engine_started);
	assert_false(c->right_turn_signal || c->high_beam_signal || c->wiper);
	assert_int_equal(c->signal->turn_signal, APOLLO__COMMON__VEHICLE_SIGNAL__TURN_SIGNAL__TURN_LEFT);
	assert_int_equal(c->chassis_gps->year, 2023); /* 2023-11-14 22:13:20 UTC */
	assert_int_equal(c->chassis_gps->day, 14);
	assert_int_equal(c->chassis_gps->hours, 22);
	assert_true(near(c->chassis_gps->heading, 90) && near(c->chassis_gps->altitude, 35)); /* looks east */
	assert_true(near(c->header->timestamp_sec, 1700000000.25));
	assert_string_equal(c->vehicle_id->vin, "MKZ1");
}

TEST(an_emergency_sets_the_error_code_and_an_unknown_gear_is_gear_none)
{
	struct sim_CanBus *m = START(CanBus);
	Apollo__Canbus__Chassis *c;

	m->mode = SIM_VEHICLE_MODE_EMERGENCY;
	m->gear = SIM_GEAR_NONE;
	m->hazard_lights = m->left_turn_signal = m->right_turn_signal = true;
	c = READ(CanBus, "apollo.canbus.Chassis");
	assert_int_equal(c->driving_mode, APOLLO__CANBUS__CHASSIS__DRIVING_MODE__EMERGENCY_MODE);
	assert_int_equal(c->error_code, APOLLO__CANBUS__CHASSIS__ERROR_CODE__CHASSIS_ERROR);
	assert_int_equal(c->chassis_error_mask, 1);
	assert_int_equal(c->gear_location, APOLLO__CANBUS__CHASSIS__GEAR_POSITION__GEAR_NONE);
	assert_int_equal(c->signal->turn_signal, APOLLO__COMMON__VEHICLE_SIGNAL__TURN_SIGNAL__TURN_HAZARD_WARNING);
	assert_true(c->signal->emergency_light);
	assert_null(c->vehicle_id);
}

/* As over ROS: rows.json has the same case. */
TEST(an_inbound_chassis_keeps_set_values_and_has_0_for_unset_ones)
{
	Apollo__Canbus__Chassis c = APOLLO__CANBUS__CHASSIS__INIT;
	const struct sim_CanBus *m;

	c.has_throttle_percentage = c.has_steering_percentage = c.has_brake_percentage = c.has_speed_mps = true;
	c.throttle_percentage = 150;
	c.steering_percentage = -125;
	c.brake_percentage = c.speed_mps = NAN;
	c.has_driving_mode = true;
	c.driving_mode = (Apollo__Canbus__Chassis__DrivingMode)9;
	assert_int_equal(apollo_peer_decode(&c.base, "apollo.canbus.Chassis", NULL, NULL, &body), 0);
	m = sim_CanBus_from(body.bytes, body.b.used);
	assert_true(m->throttle == 1.5f && m->steering == -1.25f && m->braking == 0 && m->speed == 0);
	assert_int_equal(m->mode, SIM_VEHICLE_MODE_MANUAL);
	assert_int_equal(m->gear, SIM_GEAR_NONE);
}

TEST(stamps_before_1970_and_after_2038_are_exact)
{
	struct sim_CanBus *m = START(CanBus);
	Apollo__Canbus__Chassis *c;

	m->speed = 1;
	c = apollo_peer_read_body(&body, "sim/CanBus", "apollo.canbus.Chassis", -500000000, NULL);
	assert_true(near(c->header->timestamp_sec, -0.5));
	assert_int_equal(c->chassis_gps->year, 1969);
	assert_int_equal(c->chassis_gps->seconds, 59);
	c = apollo_peer_read_body(&body, "sim/CanBus", "apollo.canbus.Chassis", 4102444800500000000, NULL);
	assert_true(near(c->header->timestamp_sec, 4102444800.5));
	assert_int_equal(c->chassis_gps->year, 2100);
}

/* A driver stamps a cloud when it is whole. */
TEST(an_inbound_cloud_has_the_stamp_of_its_first_point)
{
	Apollo__Drivers__PointCloud all = APOLLO__DRIVERS__POINT_CLOUD__INIT;
	Apollo__Drivers__PointXYZIT p[2] = { APOLLO__DRIVERS__POINT_XYZIT__INIT, APOLLO__DRIVERS__POINT_XYZIT__INIT };
	Apollo__Drivers__PointXYZIT *list[2] = { &p[0], &p[1] };
	Apollo__Common__Header header = APOLLO__COMMON__HEADER__INIT;
	struct message_in ret = { .buf = body.bytes, .room = sizeof(body.bytes) };
	static uint8_t bytes[1000];
	const struct sim_PointCloud *m;
	const struct sim_Point *got;
	char why[200];
	uint32_t n;

	header.has_timestamp_sec = true;
	header.timestamp_sec = 1700000000.25;
	all.header = &header;
	all.frame_id = (char *)(uintptr_t) "velodyne128";
	all.point = list;
	all.n_point = 2;
	for (unsigned i = 0; i < 2; i++) {
		p[i].has_timestamp = p[i].has_x = p[i].has_y = true;
		p[i].timestamp = STAMP - 100000000 + i * 1000;
		p[i].x = 3;
		p[i].y = 4;
	}
	assert_int_equal(apollo_in_read(apollo_in_find(APOLLO_10, "apollo.drivers.PointCloud"), NULL, bytes,
					apollo__drivers__point_cloud__pack(&all, bytes), &ret, why, sizeof(why)),
			 0);
	assert_int_equal(ret.stamp_sim_ns, STAMP - 100000000);
	assert_string_equal(ret.frame, "velodyne128");
	m = sim_PointCloud_from(body.bytes, ret.size);
	got = (const struct sim_Point *)(const void *)sim_PointCloud_data(m, ret.size, &n);
	assert_int_equal(m->width, 2);
	assert_false(m->is_dense); /* z is not there */
	assert_int_equal(got[0].time_offset, 0);
	assert_int_equal(got[1].time_offset, 1000);
	assert_true(isnan(got[0].z) && got[1].x == 3);
}
