/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the map_*.c files: one function for each mapping, and common geometry. */
#ifndef MAP_PRIVATE_H
#define MAP_PRIVATE_H

#include <errno.h>

#include "map.h"
#include "sim/msg/Pose.h"
#include "sim/msg/Twist.h"

/* clang-format off */
/* X(type of ours, package, ROS type); the first line of a type is its default. */
#define MAPS(X) \
	X(Clock, rosgraph_msgs, Clock) \
	X(Transforms, tf2_msgs, TFMessage) \
	X(Image, sensor_msgs, Image) \
	X(CompressedImage, sensor_msgs, CompressedImage) \
	X(CameraInfo, sensor_msgs, CameraInfo) \
	X(PointCloud, sensor_msgs, PointCloud2) \
	X(LaserScan, sensor_msgs, LaserScan) \
	X(Imu, sensor_msgs, Imu) \
	X(Imu, geometry_msgs, AccelWithCovarianceStamped) \
	X(Imu, pb_msgs, Imu) \
	X(CorrectedImu, sensor_msgs, Imu) \
	X(CorrectedImu, pb_msgs, CorrectedImu) \
	X(Gps, sensor_msgs, NavSatFix) \
	X(Gps, geometry_msgs, PoseStamped) \
	X(Gps, geometry_msgs, Pose) \
	X(Gps, geometry_msgs, PoseWithCovarianceStamped) \
	X(Gps, nmea_msgs, Sentence) \
	X(Gps, pb_msgs, GnssBestPose) \
	X(GpsOdometry, nav_msgs, Odometry) \
	X(GpsOdometry, geometry_msgs, PoseStamped) \
	X(GpsOdometry, geometry_msgs, PoseWithCovarianceStamped) \
	X(GpsOdometry, pb_msgs, Gps) \
	X(CanBus, lgsvl_msgs, CanBusData) \
	X(CanBus, autoware_msgs, VehicleStatus) \
	X(CanBus, autoware_can_msgs, CANInfo) \
	X(CanBus, autoware_vehicle_msgs, VelocityReport) \
	X(CanBus, autoware_vehicle_msgs, SteeringReport) \
	X(CanBus, autoware_vehicle_msgs, ControlModeReport) \
	X(CanBus, autoware_vehicle_msgs, GearReport) \
	X(CanBus, autoware_vehicle_msgs, TurnIndicatorsReport) \
	X(CanBus, autoware_vehicle_msgs, HazardLightsReport) \
	X(CanBus, pb_msgs, Chassis) \
	X(VehicleOdometry, lgsvl_msgs, VehicleOdometry) \
	X(VehicleOdometry, autoware_vehicle_msgs, VelocityReport) \
	X(VehicleOdometry, autoware_vehicle_msgs, SteeringReport) \
	X(Detected2DObjects, lgsvl_msgs, Detection2DArray) \
	X(Detected3DObjects, lgsvl_msgs, Detection3DArray) \
	X(Detected3DObjects, autoware_perception_msgs, DetectedObjects) \
	X(Detected3DObjects, autoware_perception_msgs, TrackedObjects) \
	X(Detected3DObjects, pb_msgs, PerceptionObstacles) \
	X(OccupancyGrid, nav_msgs, OccupancyGrid) \
	X(RadarObjects, lgsvl_msgs, DetectedRadarObjectArray) \
	X(RadarObjects, pb_msgs, ContiRadar) \
	X(TrafficSignals, lgsvl_msgs, SignalArray) \
	X(TrafficSignals, autoware_perception_msgs, TrafficLightGroupArray) \
	X(TrafficSignals, pb_msgs, TrafficLightDetection) \
	X(Ultrasonic, lgsvl_msgs, Ultrasonic) \
	X(Bool, std_msgs, Bool) \
	X(Int8, std_msgs, Int8) \
	X(Int16, std_msgs, Int16) \
	X(Int32, std_msgs, Int32) \
	X(Int64, std_msgs, Int64) \
	X(UInt8, std_msgs, UInt8) \
	X(UInt16, std_msgs, UInt16) \
	X(UInt32, std_msgs, UInt32) \
	X(UInt64, std_msgs, UInt64) \
	X(Float32, std_msgs, Float32) \
	X(Float64, std_msgs, Float64) \
	X(String, std_msgs, String)
/* A type becomes one of these only if the rig names it; they are not read. */
#define MAPS_OUT_ONLY(X) \
	X(Detected3DObjects, autoware_msgs, DetectedObjectArray) \
	X(Detected3DObjects, visualization_msgs, MarkerArray) \
	X(LaneLines, visualization_msgs, MarkerArray) \
	X(RadarObjects, visualization_msgs, MarkerArray) \
	X(TrafficSignals, visualization_msgs, MarkerArray)
/* clang-format on */

#define MAP_NAME(sim, package, ros) map_##sim##_to_##package##_##ros
#define MAP_ARGS                    const struct map_message *in, struct sim_enc *e
#define X(sim, package, ros)        int MAP_NAME(sim, package, ros)(MAP_ARGS);
MAPS(X)
MAPS_OUT_ONLY(X)
#undef X

/*
 * MAP(T, package, Ros) { ... } defines a mapping. Its body has `in`, `e` and `m`, the struct sim_T at the beginning of
 * the message, whose fixed part is checked; it returns as struct map's emit.
 */
#define MAP(T, package, ros) \
	static inline int fill_##T##_##package##_##ros(const struct sim_##T *m, MAP_ARGS); \
	int MAP_NAME(T, package, ros)(MAP_ARGS) \
	{ \
		const struct sim_##T *m = sim_##T##_from(in->body, in->size); \
\
		return m ? fill_##T##_##package##_##ros(m, in, e) : -EBADMSG; \
	} \
	static inline int fill_##T##_##package##_##ros(const struct sim_##T *m, \
						       __attribute__((unused)) const struct map_message *in, \
						       struct sim_enc *e)

/* In a mapping: encodes the header, and the list `name` of the n elements o, each by one(e, in, &o[i]). */
#define MAP_HEADED_LIST(name, o, n, one) \
	do { \
		map_header(e, in); \
		sim_enc_list(e, name, n); \
		for (uint32_t i_ = 0; i_ < (n); i_++) \
			one(e, in, &(o)[i_]); \
		sim_enc_list_end(e); \
	} while (0)

static inline bool map_is_svl(const struct map_message *in)
{
	return in->options->compat != MAP_COMPAT_NONE;
}

/* Length of a string of the message. If its publisher overwrites the NUL meanwhile, the string ends with the body. */
size_t map_text_length(const struct map_message *in, const char *s);
void map_header(struct sim_enc *e, const struct map_message *in);
/* Encodes a string of the message, from its accessor, or a constant. */
void map_text(struct sim_enc *e, const char *name, const struct map_message *in, const char *s);
/* Vector3 or Point: both have x, y and z */
void map_vector(struct sim_enc *e, const char *name, const struct sim_Vector3 *v);
void map_quaternion(struct sim_enc *e, const char *name, const struct sim_Quaternion *q);
void map_pose(struct sim_enc *e, const char *name, const struct sim_Vector3 *position, const struct sim_Quaternion *q);
void map_twist(struct sim_enc *e, const char *name, const struct sim_Vector3 *linear,
	       const struct sim_Vector3 *angular);

/*
 * Rotates a vector from the map into the body's axes; q: from the body to the map. {0, 0, 0, 0}: unknown, v is returned
 * unchanged.
 */
struct sim_Vector3 map_to_body(const struct sim_Quaternion *q, const struct sim_Vector3 *v);

struct map_fix { /* of sim/Gps and sim/GpsOdometry */
	double longitude, latitude, easting, northing, altitude;
	bool absolute;
};
#define MAP_FIX_OF(m) \
	((struct map_fix){ (m)->longitude, (m)->latitude, (m)->easting, (m)->northing, (m)->altitude, \
			   (m)->ignore_map_origin })

struct map_place {
	struct sim_Vector3 at;
	struct map_message in; /* the message, with the frame of `at` */
	struct map_options options;
};
/*
 * Converts a position to where the rig wants it. The frame is the rig's; else "map" for positions in the map, or "utm".
 * Errors are those of struct map's emit.
 */
int map_place_of(const struct map_message *in, struct map_fix f, struct map_place *ret);

/* An object's label as Autoware's number of its class; case-insensitive. */
enum map_class {
	MAP_CLASS_UNKNOWN = 0,
	MAP_CLASS_CAR = 1,
	MAP_CLASS_TRUCK = 2,
	MAP_CLASS_BUS = 3,
	MAP_CLASS_TRAILER = 4,
	MAP_CLASS_MOTORCYCLE = 5,
	MAP_CLASS_BICYCLE = 6,
	MAP_CLASS_PEDESTRIAN = 7,
	MAP_CLASS_ANIMAL = 8,
	MAP_CLASS_HAZARD = 9,
	MAP_CLASS_OVER_DRIVABLE = 10,
	MAP_CLASS_UNDER_DRIVABLE = 11,
};
uint8_t map_class_of(const char *label);

/* A vehicle's state as SVL Simulator reported it. */
struct sim_CanBus;
struct sim_CanBus map_svl_can_bus(const struct sim_CanBus *m);

#endif
