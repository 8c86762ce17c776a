/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the map_in*.c files. */
#ifndef MAP_IN_PRIVATE_H
#define MAP_IN_PRIVATE_H

#include <errno.h>

#include "map_in.h"
#include "map_private.h"

/*
 * struct sim_T *m = START(T): a zeroed message at the start of to->buf; returns -ENOBUFS from the caller if there is no
 * room
 */
#define START(T) \
	struct sim_builder builder; \
	struct sim_##T *m = sim_##T##_init(to->buf, to->room, &builder); \
	if (!m) \
	return -ENOBUFS

/* Reads the message's own header: sets the body's stamp and frame. -EMSGSIZE if the frame does not fit a slot. */
int64_t map_in_header(struct sim_dec *d, struct message_in *to);
/* The same for a message that has only a stamp. */
int64_t map_in_stamp(struct sim_dec *d, const char *name, struct message_in *to);

static inline int map_in_finish(const struct sim_builder *b, struct message_in *to)
{
	to->size = sim_builder_size(b);
	return sim_builder_error(b);
}

/* clang-format off */
/*
 * X(name, call that encodes `data`): the types of std_msgs with one number; floats may be NaN or infinite, as sensors'
 * may
 */
#define MAP_IN_STD(X) \
	X(Bool, bool) X(Int8, i8) X(Int16, i16) X(Int32, i32) X(Int64, i64) X(UInt8, u8) X(UInt16, u16) X(UInt32, u32) \
	X(UInt64, u64) X(Float32, f32) X(Float64, f64)
/* clang-format on */

/* clang-format off */
/* X(package, ROS type, type of ours): the inverse of MAPS; the first line of a ROS type is its default. */
#define MAPS_IN(X) \
	X(rosgraph_msgs, Clock, Clock) \
	X(tf2_msgs, TFMessage, Transforms) \
	X(tf, tfMessage, Transforms) \
	X(sensor_msgs, Image, Image) \
	X(sensor_msgs, CompressedImage, CompressedImage) \
	X(sensor_msgs, CameraInfo, CameraInfo) \
	X(sensor_msgs, PointCloud2, PointCloud) \
	X(sensor_msgs, LaserScan, LaserScan) \
	X(sensor_msgs, Imu, Imu) \
	X(sensor_msgs, Imu, CorrectedImu) \
	X(geometry_msgs, AccelWithCovarianceStamped, Imu) \
	X(pb_msgs, Imu, Imu) \
	X(pb_msgs, CorrectedImu, CorrectedImu) \
	X(sensor_msgs, NavSatFix, Gps) \
	X(geometry_msgs, PoseStamped, Gps) \
	X(geometry_msgs, PoseStamped, GpsOdometry) \
	X(geometry_msgs, Pose, Gps) \
	X(geometry_msgs, PoseWithCovarianceStamped, Gps) \
	X(geometry_msgs, PoseWithCovarianceStamped, GpsOdometry) \
	X(nmea_msgs, Sentence, Gps) \
	X(pb_msgs, GnssBestPose, Gps) \
	X(nav_msgs, Odometry, GpsOdometry) \
	X(pb_msgs, Gps, GpsOdometry) \
	X(lgsvl_msgs, CanBusData, CanBus) \
	X(autoware_msgs, VehicleStatus, CanBus) \
	X(autoware_can_msgs, CANInfo, CanBus) \
	X(autoware_vehicle_msgs, VelocityReport, CanBus) \
	X(autoware_vehicle_msgs, VelocityReport, VehicleOdometry) \
	X(autoware_vehicle_msgs, SteeringReport, CanBus) \
	X(autoware_vehicle_msgs, SteeringReport, VehicleOdometry) \
	X(autoware_vehicle_msgs, ControlModeReport, CanBus) \
	X(autoware_vehicle_msgs, GearReport, CanBus) \
	X(autoware_vehicle_msgs, TurnIndicatorsReport, CanBus) \
	X(autoware_vehicle_msgs, HazardLightsReport, CanBus) \
	X(pb_msgs, Chassis, CanBus) \
	X(lgsvl_msgs, VehicleOdometry, VehicleOdometry) \
	X(lgsvl_msgs, Detection2DArray, Detected2DObjects) \
	X(lgsvl_msgs, Detection3DArray, Detected3DObjects) \
	X(autoware_perception_msgs, DetectedObjects, Detected3DObjects) \
	X(autoware_perception_msgs, TrackedObjects, Detected3DObjects) \
	X(pb_msgs, PerceptionObstacles, Detected3DObjects) \
	X(nav_msgs, OccupancyGrid, OccupancyGrid) \
	X(lgsvl_msgs, DetectedRadarObjectArray, RadarObjects) \
	X(pb_msgs, ContiRadar, RadarObjects) \
	X(lgsvl_msgs, SignalArray, TrafficSignals) \
	X(autoware_perception_msgs, TrafficLightGroupArray, TrafficSignals) \
	X(pb_msgs, TrafficLightDetection, TrafficSignals) \
	X(lgsvl_msgs, Ultrasonic, Ultrasonic)
/* clang-format on */

/* MAP_IN(package, Ros, T) { ... } defines a mapping; its body has `d` and `to`, and returns as map_in_read(). */
#define MAP_IN_NAME(package, ros, T) map_in_##package##_##ros##_to_##T
#define MAP_IN(package, ros, T)      int MAP_IN_NAME(package, ros, T)(struct sim_dec * d, struct message_in * to)
#define X(package, ros, T)           MAP_IN(package, ros, T);
MAPS_IN(X)
#undef X

#define X(name, suffix) int map_in_##name(struct sim_dec *d, struct message_in *to);
MAP_IN_STD(X)
#undef X
int map_in_String(struct sim_dec *d, struct message_in *to);

/* ---- fields, unchecked: map_in_fields.c ---- */

float map_in_f32(struct sim_dec *d, const char *name);
double map_in_f64(struct sim_dec *d, const char *name);
/* Reads an array of n numbers; elements that the message lacks keep their value. */
void map_in_f64s(struct sim_dec *d, const char *name, double *ret, uint32_t n);
void map_in_skip_f64s(struct sim_dec *d, const char *name, uint32_t n);
struct sim_Vector3 map_in_vector(struct sim_dec *d, const char *name); /* or a Point */
/* The same with a check that it is finite, for objects: -EDOM for NaN and infinity. */
struct sim_Vector3 map_in_finite(struct sim_dec *d, const char *name);
struct sim_Pose map_in_finite_pose(struct sim_dec *d, const char *name);
struct sim_Quaternion map_in_quaternion(struct sim_dec *d, const char *name);
struct sim_Pose map_in_pose(struct sim_dec *d, const char *name);
struct sim_Twist map_in_twist(struct sim_dec *d, const char *name);
/* Reads a string of at most max bytes into a span of the body. */
void map_in_text(struct sim_dec *d, struct sim_builder *b, const char *name, struct sim_span *span, size_t max);
/* Numbers, to be copied before the next read; NULL and 0 if there are none. */
const void *map_in_array(struct sim_dec *d, const char *name, enum sim_kind kind, uint32_t *ret_n);
void map_in_copy(void *at, const void *from, size_t size); /* at NULL: the builder had no room; does nothing */
/* Seconds as ns; -ERANGE beyond 9e9, and NaN. */
int64_t map_in_ns(struct sim_dec *d, double seconds);

/* [rad] yaw of a quaternion, 0 is along x, anticlockwise */
double map_in_yaw(const struct sim_Quaternion *q);
/* Inverse of map_to_body(). */
struct sim_Vector3 map_in_from_body(const struct sim_Quaternion *q, const struct sim_Vector3 *v);

/* Our gear for one of Autoware's, 1 to 24. */
uint8_t map_in_autoware_gear(uint8_t gear);
/* Reads the header of pb_msgs, as map_in_header(); MESSAGE_IN_NO_STAMP if its seconds are 0. */
int64_t map_in_apollo_header(struct sim_dec *d, struct message_in *to);

#endif
