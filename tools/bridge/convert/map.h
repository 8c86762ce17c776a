/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings: which ROS message each bridge-agnostic type becomes, and the other way round. A mapping reads a body in
 * place and hands its fields to an encoder; it knows no format. Units, axes and signs that the target has otherwise are
 * turned here and listed in MAPPINGS.md. Pure functions of their arguments: any thread.
 */
#ifndef MAP_H
#define MAP_H

#include <stdbool.h>

#include <sim/encode.h>

enum map_points {                     /* layout of the points of a sensor_msgs/PointCloud2 */
		  MAP_POINTS_NATIVE,  /* as the sensor wrote them: the data is only pointed to */
		  MAP_POINTS_AWSIM24, /* x, y, z, intensity float32 @16, ring uint16 @20 */
		  MAP_POINTS_AWSIM48, /* and azimuth, distance float32, return_type uint8 @32, time_stamp float64 @40 */
		  MAP_POINTS_SVL32,   /* x, y, z, intensity uint8 @16 in 1/255, timestamp float64 @24 */
		  MAP_POINTS_XYZIRCAEDT, /* Autoware's of 32 bytes, time_stamp uint32 @28 in ns after the header's */
		  MAP_POINTS_XYZIR,      /* velodyne's of 24 bytes: AWSIM24 with intensity from 0 to 255 */
};

/* Where positions of sim/Gps and sim/GpsOdometry are given. UTM is that of the message, or of its latitude and longitude. */
enum map_position {
	MAP_POSITION_MESSAGE, /* as it comes; what is absolute in the frame "map" is in "utm" */
	MAP_POSITION_MAP,     /* from the map's origin: of the message, or map_options.origin */
	MAP_POSITION_UTM,     /* in the frame "utm" */
	MAP_POSITION_MGRS,    /* in the square of 100 km, as Autoware's maps, in the frame "map" */
};

/* Whose mistakes a message has: SVL.md lists them. */
enum map_compat {
	MAP_COMPAT_NONE,
	MAP_COMPAT_SVL,      /* SVL Simulator's, 2021.3, as its users on ROS 1 knew it: fields found by name */
	MAP_COMPAT_SVL_ROS2, /* as on ROS 2: fields found by their place */
};

enum map_sentence { MAP_SENTENCE_GGA, MAP_SENTENCE_INSATT }; /* of an nmea_msgs/Sentence: place or attitude */

/* Options of a channel in the rig. Zeros: everything as it comes. */
struct map_options {
	const char *frame;       /* frame_id instead of the slot's; NULL: the slot's */
	const char *child_frame; /* of nav_msgs/Odometry instead of the message's; NULL: that */
	/* "bgr8" or "rgb8": swap the channels of an image of the other; NULL: as it comes, but 32SC1 as mono16 */
	const char *encoding;
	double covariance;    /* diagonal of covariances that are not known; 0: as they come */
	double undulation;    /* m: the geoid above the ellipsoid, for heights above the sea of pb_msgs */
	const double *origin; /* UTM easting, northing and altitude of the map's origin; NULL: the message's map has it */
	enum map_position position;
	enum map_points points;
	enum map_sentence sentence;
	enum map_compat compat;
	bool sign_unknown;   /* objects: which end is the front is not said, and of unknown ones nothing at all */
	bool no_predictions; /* TrafficLightGroup as it was before autoware_msgs 1.8 */
};

struct map_message { /* one message; borrows all of it, body until the bytes are sent */
	const void *body;
	size_t size;
	struct sim_enc_header header;
	const struct map_options *options;
	bool ros1; /* as ROS 1 defines it, where that has other fields; conversion_out_emit() sets it */
};

struct map {
	const char *sim; /* "sim/Image" */
	const char *ros; /* "sensor_msgs/Image", as in the tables of ros_type.h */
	/* 0, -EBADMSG the body does not hold together, -ENOTSUP not with these options. What was encoded before is then void. */
	int (*emit)(const struct map_message *in, struct sim_enc *e);
	bool out_only; /* no type's default, and it does not come in */
};

extern const struct map
	map_table[]; /* the first one of a type is its default, unless it is out_only; ended by a NULL sim */

/* "pkg/Name" against "pkg/Name" or "pkg/msg/Name". */
bool map_same_ros(const char *have, const char *want);

/* The mapping of a type to "pkg/Name" or "pkg/msg/Name", NULL: to its default. NULL: there is none. */
const struct map *map_find(const char *sim, const char *ros);

#endif
