/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mappings: which ROS message each bridge-agnostic type becomes, and the inverse. A mapping reads a body in place
 * and passes its fields to an encoder; it is independent of the format. It converts units, axes and signs that the
 * target defines otherwise; MAPPINGS.md lists them. Pure functions of their arguments: any thread.
 */
#ifndef MAP_H
#define MAP_H

#include <stdbool.h>

#include <sim/encode.h>

enum map_points {                     /* layout of the points of a sensor_msgs/PointCloud2 */
		  MAP_POINTS_NATIVE,  /* as the sensor wrote them: the data is referenced, not copied */
		  MAP_POINTS_AWSIM24, /* x, y, z, intensity float32 @16, ring uint16 @20 */
		  /* AWSIM24 and azimuth, distance float32, return_type uint8 @32, time_stamp float64 @40 */
		  MAP_POINTS_AWSIM48,
		  MAP_POINTS_SVL32,      /* x, y, z, intensity uint8 @16 in 1/255, timestamp float64 @24 */
		  MAP_POINTS_XYZIRCAEDT, /* Autoware's of 32 bytes, time_stamp uint32 @28 in ns after the header's */
		  MAP_POINTS_XYZIR,      /* velodyne's of 24 bytes: AWSIM24 with intensity from 0 to 255 */
};

/*
 * Frame of the positions of sim/Gps and sim/GpsOdometry. UTM is that of the message, or of its latitude and longitude.
 */
enum map_position {
	MAP_POSITION_MESSAGE, /* unchanged; absolute positions in the frame "map" are given in "utm" */
	MAP_POSITION_MAP,     /* relative to the map's origin: of the message, or map_options.origin */
	MAP_POSITION_UTM,     /* in the frame "utm" */
	MAP_POSITION_MGRS,    /* within the 100 km square, as in Autoware's maps, in the frame "map" */
};

/* Whose mistakes a message reproduces: SVL.md lists them. */
enum map_compat {
	MAP_COMPAT_NONE,
	MAP_COMPAT_SVL,      /* of SVL Simulator 2021.3 as seen on ROS 1, where fields are found by name */
	MAP_COMPAT_SVL_ROS2, /* as seen on ROS 2, where fields are found by position */
};

enum map_sentence { MAP_SENTENCE_GGA, MAP_SENTENCE_INSATT }; /* kind of nmea_msgs/Sentence: position or attitude */

/* Options of a channel in the rig. All zero: values are sent unchanged. */
struct map_options {
	const char *frame;       /* frame_id instead of the slot's; NULL: the slot's */
	const char *child_frame; /* of nav_msgs/Odometry instead of the message's; NULL: the message's */
	/* "bgr8" or "rgb8": swap the channels of an image that has the other; NULL: unchanged, but 32SC1 as mono16 */
	const char *encoding;
	double covariance;    /* diagonal of unknown covariances; 0: unchanged */
	double undulation;    /* m: height of the geoid above the ellipsoid, for heights above sea level in pb_msgs */
	const double *origin; /* UTM easting, northing and altitude of the map's origin; NULL: taken from the message */
	enum map_position position;
	enum map_points points;
	enum map_sentence sentence;
	enum map_compat compat;
	/* objects: orientation_availability SIGN_UNKNOWN instead of AVAILABLE; for unknown objects UNAVAILABLE */
	bool sign_unknown;
	bool no_predictions; /* TrafficLightGroup in its form before autoware_msgs 1.8 */
};

struct map_message { /* one message; borrows everything, body until the bytes are sent */
	const void *body;
	size_t size;
	struct sim_enc_header header;
	const struct map_options *options;
	bool ros1; /* encode as ROS 1 defines it, where fields differ; set by conversion_out_emit() */
};

struct map {
	const char *sim; /* "sim/Image" */
	const char *ros; /* "sensor_msgs/Image", as in the tables of ros_type.h */
	/*
	 * 0, -EBADMSG malformed body, -ENOTSUP not with these options. After an error the encoded fields are invalid.
	 */
	int (*emit)(const struct map_message *in, struct sim_enc *e);
	bool out_only; /* never a type's default, and not an incoming type */
};

extern const struct map
	map_table[]; /* the first line of a type is its default, unless it is out_only; terminated by a NULL sim */

/* Compares "pkg/Name" with "pkg/Name" or "pkg/msg/Name". */
bool map_same_ros(const char *have, const char *want);

/* The mapping of a type to "pkg/Name" or "pkg/msg/Name", NULL: to its default. NULL: none exists. */
const struct map *map_find(const char *sim, const char *ros);

#endif
