/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the ROS 2 package around generated message definitions. Thread: main. */
#ifndef SIMCTL_ROS_PACKAGE_H
#define SIMCTL_ROS_PACKAGE_H

/*
 * Writes package.xml and CMakeLists.txt of dir/name for all definitions in its msg folder. Overwrites those that simctl
 * wrote, leaves others alone. Returns 0, or 1 after printing why.
 */
int ros_package_write(const char *dir, const char *name);

#endif
