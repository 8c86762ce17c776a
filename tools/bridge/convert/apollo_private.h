/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the apollo_*.c files: one function for each mapping. */
#ifndef APOLLO_PRIVATE_H
#define APOLLO_PRIVATE_H

#include <errno.h>

#include "apollo.h"
#include "apollo_definitions.h"
#include "apollo_frames.h"
#include "pb_reader.h"
#include "pb_writer.h"

struct apollo_out { /* an outgoing message */
	const struct apollo_message *in;
	const struct apollo_options *options;
	struct pb_writer w;
	enum apollo_release release;
	char *why;
	size_t why_size;
};

struct apollo_in { /* an incoming message */
	const struct apollo_limits *limits;
	const struct apollo_options *options;
	const void *data;
	size_t len;
	enum apollo_release release;
	int error; /* of the reader */
	void *body;
	size_t room, size;
	int64_t stamp_ns;  /* MESSAGE_IN_NO_STAMP: none */
	const void *frame; /* frame_len bytes of data */
	size_t frame_len;
	char *why;
	size_t why_size;
};

/* clang-format off */
/* X(type of ours, function, Apollo's name, Apollo's channel or NULL); the first line of a type is its default. */
#define APOLLO_OUT(X) \
	X(Clock, clock, "apollo.cyber.proto.Clock", "/clock") \
	X(Transforms, transforms, "apollo.transform.TransformStampeds", "/tf") \
	X(Image, image, "apollo.drivers.Image", NULL) \
	X(CompressedImage, compressed_image, "apollo.drivers.CompressedImage", NULL) \
	X(PointCloud, point_cloud, "apollo.drivers.PointCloud", NULL) \
	X(LaserScan, laser_scan, "apollo.drivers.PointCloud", NULL) \
	X(RadarObjects, radar, "apollo.drivers.ContiRadar", "/apollo/sensor/conti_radar") \
	X(Ultrasonic, ultrasonic, "apollo.drivers.Ultrasonic", "/apollo/sensor/ultrasonic_radar") \
	X(Imu, imu, "apollo.drivers.gnss.Imu", "/apollo/sensor/gnss/imu") \
	X(CorrectedImu, corrected_imu, "apollo.localization.CorrectedImu", "/apollo/sensor/gnss/corrected_imu") \
	X(CorrectedImu, estimate_of_imu, "apollo.localization.LocalizationEstimate", "/apollo/localization/pose") \
	X(Gps, best_pose, "apollo.drivers.gnss.GnssBestPose", "/apollo/sensor/gnss/best_pose") \
	X(GpsIns, ins_stat, "apollo.drivers.gnss.InsStat", "/apollo/sensor/gnss/ins_stat") \
	X(GpsOdometry, gps, "apollo.localization.Gps", "/apollo/sensor/gnss/odometry") \
	X(GpsOdometry, estimate, "apollo.localization.LocalizationEstimate", "/apollo/localization/pose") \
	X(CanBus, chassis, "apollo.canbus.Chassis", "/apollo/canbus/chassis") \
	X(Detected3DObjects, obstacles, "apollo.perception.PerceptionObstacles", "/apollo/perception/obstacles") \
	X(Detected2DObjects, detections, "apollo.common.Detection2DArray", NULL) \
	X(TrafficSignals, lights, "apollo.perception.TrafficLightDetection", "/apollo/perception/traffic_light") \
	X(LaneLines, lanes, "apollo.perception.PerceptionLanes", NULL)

/* X(Apollo's name, function, type of ours, Apollo's channel or NULL); the first line of a message is its default. */
#define APOLLO_IN(X) \
	X("apollo.control.ControlCommand", control, VehicleControl, "/apollo/control") \
	X("apollo.control.ControlCommand", gear, GearCommand, "/apollo/control") \
	X("apollo.control.ControlCommand", turn, TurnCommand, "/apollo/control") \
	X("apollo.control.ControlCommand", hazard, HazardCommand, "/apollo/control") \
	X("apollo.control.ControlCommand", state, VehicleState, "/apollo/control") \
	X("apollo.control.PadMessage", pad, EngageCommand, "/apollo/control/pad") \
	X("apollo.planning.ADCTrajectory", trajectory, Trajectory, "/apollo/planning") \
	X("apollo.cyber.proto.Clock", clock, Clock, "/clock") \
	X("apollo.transform.TransformStampeds", transforms, Transforms, "/tf") \
	X("apollo.drivers.Image", image, Image, NULL) \
	X("apollo.drivers.CompressedImage", compressed_image, CompressedImage, NULL) \
	X("apollo.drivers.PointCloud", point_cloud, PointCloud, NULL) \
	X("apollo.drivers.ContiRadar", radar, RadarObjects, "/apollo/sensor/conti_radar") \
	X("apollo.drivers.Ultrasonic", ultrasonic, Ultrasonic, "/apollo/sensor/ultrasonic_radar") \
	X("apollo.drivers.gnss.Imu", imu, Imu, "/apollo/sensor/gnss/imu") \
	X("apollo.localization.CorrectedImu", corrected_imu, CorrectedImu, "/apollo/sensor/gnss/corrected_imu") \
	X("apollo.localization.LocalizationEstimate", estimate, GpsOdometry, "/apollo/localization/pose") \
	X("apollo.localization.LocalizationEstimate", estimate_of_imu, CorrectedImu, "/apollo/localization/pose") \
	X("apollo.localization.Gps", gps, GpsOdometry, "/apollo/sensor/gnss/odometry") \
	X("apollo.drivers.gnss.GnssBestPose", best_pose, Gps, "/apollo/sensor/gnss/best_pose") \
	X("apollo.drivers.gnss.InsStat", ins_stat, GpsIns, "/apollo/sensor/gnss/ins_stat") \
	X("apollo.canbus.Chassis", chassis, CanBus, "/apollo/canbus/chassis") \
	X("apollo.perception.PerceptionObstacles", obstacles, Detected3DObjects, "/apollo/perception/obstacles") \
	X("apollo.common.Detection2DArray", detections, Detected2DObjects, NULL) \
	X("apollo.perception.TrafficLightDetection", lights, TrafficSignals, "/apollo/perception/traffic_light") \
	X("apollo.perception.PerceptionLanes", lanes, LaneLines, NULL)
/* clang-format on */

#define X(T, f, name, channel) int apollo_out_##f(struct apollo_out *o);
APOLLO_OUT(X)
#undef X
#define X(name, f, T, channel) int apollo_in_##f(struct apollo_in *d);
APOLLO_IN(X)
#undef X

/* Declares const struct sim_T *m, the message of o; returns -EBADMSG from the caller if the body is malformed. */
#define APOLLO_BODY(o, T) APOLLO_CHECKED(o, T, m)
#define APOLLO_CHECKED(o, T, m) \
	sim_##T##_from((o)->in->body, (o)->in->size); \
	if (!(m)) \
	return apollo_no_body(o, "sim/" #T)

int apollo_no_body(struct apollo_out *o, const char *type);
/* Writes the reason of an error, which it returns. */
__attribute__((format(printf, 3, 4))) int apollo_refuse(struct apollo_out *o, int error, const char *fmt, ...);
__attribute__((format(printf, 3, 4))) int apollo_drop(struct apollo_in *d, int error, const char *fmt, ...);

struct apollo_file { /* a FileDescriptorProto; borrows */
	const void *blob, *name;
	size_t size, name_len;
};

#define APOLLO_SET_MAX 1024u /* files in a set */

/* Reads field 1 of a set. False: it is malformed, or has no name. */
bool apollo_file_read(const void *blob, size_t size, struct apollo_file *ret);
/*
 * Selects the files that define the message `name`, from files of which each comes after those that it imports. Returns
 * their number; 0: no file defines it, or more than APOLLO_FILES_MAX are needed.
 */
size_t apollo_choose(const struct apollo_file *files, size_t n, const char *name, struct iovec ret[APOLLO_FILES_MAX]);
/* All built-in definitions. */
size_t apollo_own_files(enum apollo_release r, struct apollo_file files[APOLLO_DEFINITIONS_MAX]);

/* ---- parts of many messages ---- */

#define APOLLO_LIDAR_TIMESTAMP  4u
#define APOLLO_CAMERA_TIMESTAMP 5u
#define APOLLO_RADAR_TIMESTAMP  6u

/* Writes the header as field 1, or another field; sensor: the field that repeats the stamp in ns, or 0. */
void apollo_header(struct apollo_out *o, uint32_t field, uint32_t sensor);
void apollo_header_framed(struct apollo_out *o, uint32_t field, uint32_t sensor, const char *frame, size_t len);
void apollo_text(struct apollo_out *o, uint32_t field, const char *s);
/*
 * Length of a string of the message, from its accessor. If its publisher overwrites the NUL meanwhile, the string ends
 * with the body.
 */
size_t apollo_body_len(const struct apollo_out *o, const char *s);
void apollo_body_text(struct apollo_out *o, uint32_t field, const char *s);
void apollo_frame_id(struct apollo_out *o, uint32_t field);
/* Point3D and PointENU; Quaternion */
void apollo_point(struct apollo_out *o, uint32_t field, const struct sim_Vector3 *v);
void apollo_quaternion(struct apollo_out *o, uint32_t field, const struct sim_Quaternion *q);

/* The absolute position of one that is relative to the map's origin. */
struct sim_Vector3 apollo_from_origin(const struct apollo_out *o, const struct sim_Vector3 *v);

struct apollo_fix { /* fields that both messages of a GNSS receiver have */
	double longitude, latitude, altitude, easting, northing;
	bool absolute;
};
/* The UTM coordinates, in the rig's zone. 0 or -EBADMSG. */
int apollo_place(struct apollo_out *o, const struct apollo_fix *f, struct sim_Vector3 *ret);

#endif
