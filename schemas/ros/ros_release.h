/* SPDX-License-Identifier: Apache-2.0 */
/* The ROS releases that the packages in this directory come from. Pure functions of constant data, any thread. */
#ifndef ROS_RELEASE_H
#define ROS_RELEASE_H

struct ros_release {
	const char *package; /* "nav_msgs" */
	const char *release; /* "Humble 4.2.4" */
};

/* The i-th by package. NULL: no more. */
const struct ros_release *ros_release_nth(unsigned i);
/* The release of "nav_msgs/Path", or of a package. NULL: there is no such package. */
const char *ros_release_of(const char *name);

#endif
