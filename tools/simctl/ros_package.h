/* SPDX-License-Identifier: Apache-2.0 */
/* The package around message definitions that were written for ROS 2. Thread: main. */
#ifndef SIMCTL_ROS_PACKAGE_H
#define SIMCTL_ROS_PACKAGE_H

/*
 * Write package.xml and CMakeLists.txt of dir/name for all that lies in its msg folder. What is there is written again if it is
 * from here, and left alone otherwise. 0, or 1 and a sentence.
 */
int ros_package_write(const char *dir, const char *name);

#endif
