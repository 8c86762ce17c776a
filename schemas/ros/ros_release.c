/* SPDX-License-Identifier: Apache-2.0 */
/* See ros_release.h. The table is that of README.md, by name. */
#include "ros/ros_release.h"

#include <stdlib.h>
#include <string.h>

static const struct ros_release releases[] = {
	{ "ackermann_msgs", "Humble 2.0.2" },
	{ "action_msgs", "Humble 1.2.1" },
	{ "actionlib_msgs", "Humble 4.2.4" },
	{ "autoware_adapi_v1_msgs", "autoware_adapi_msgs 1.9.2" },
	{ "autoware_adapi_version_msgs", "autoware_adapi_msgs 1.9.2" },
	{ "autoware_auto_control_msgs", "autoware_auto_msgs, September 2023" },
	{ "autoware_auto_geometry_msgs", "autoware_auto_msgs, September 2023" },
	{ "autoware_auto_mapping_msgs", "autoware_auto_msgs, September 2023" },
	{ "autoware_auto_perception_msgs", "autoware_auto_msgs, September 2023" },
	{ "autoware_auto_planning_msgs", "autoware_auto_msgs, September 2023" },
	{ "autoware_auto_system_msgs", "autoware_auto_msgs, September 2023" },
	{ "autoware_auto_vehicle_msgs", "autoware_auto_msgs, September 2023" },
	{ "autoware_can_msgs", "Autoware.AI, ROS 1" },
	{ "autoware_common_msgs", "autoware_msgs 1.12.0" },
	{ "autoware_control_msgs", "autoware_msgs 1.12.0" },
	{ "autoware_internal_debug_msgs", "autoware_internal_msgs 1.12.1" },
	{ "autoware_internal_localization_msgs", "autoware_internal_msgs 1.12.1" },
	{ "autoware_internal_metric_msgs", "autoware_internal_msgs 1.12.1" },
	{ "autoware_internal_msgs", "autoware_internal_msgs 1.12.1" },
	{ "autoware_internal_perception_msgs", "autoware_internal_msgs 1.12.1" },
	{ "autoware_internal_planning_msgs", "autoware_internal_msgs 1.12.1" },
	{ "autoware_localization_msgs", "autoware_msgs 1.12.0" },
	{ "autoware_map_msgs", "autoware_msgs 1.12.0" },
	{ "autoware_msgs", "Autoware.AI, ROS 1" },
	{ "autoware_perception_msgs", "autoware_msgs 1.12.0" },
	{ "autoware_planning_msgs", "autoware_msgs 1.12.0" },
	{ "autoware_sensing_msgs", "autoware_msgs 1.12.0" },
	{ "autoware_simulation_msgs", "autoware_msgs 1.12.0" },
	{ "autoware_system_msgs", "autoware_msgs 1.12.0" },
	{ "autoware_v2x_msgs", "autoware_msgs 1.12.0" },
	{ "autoware_vehicle_msgs", "autoware_msgs 1.12.0" },
	{ "builtin_interfaces", "Humble 1.2.1" },
	{ "composition_interfaces", "Humble 1.2.1" },
	{ "diagnostic_msgs", "Humble 4.2.4" },
	{ "geographic_msgs", "Humble 1.0.5" },
	{ "geometry_msgs", "Humble 4.2.4" },
	{ "jsk_recognition_msgs", "Noetic; what autoware_msgs nests" },
	{ "lgsvl_msgs", "LGSVL" },
	{ "lifecycle_msgs", "Humble 1.2.1" },
	{ "nav_msgs", "Humble 4.2.4" },
	{ "nmea_msgs", "Humble 2.1.0" },
	{ "pb_msgs", "LGSVL" },
	{ "radar_msgs", "Humble 0.2.2" },
	{ "rcl_interfaces", "Humble 1.2.1" },
	{ "rmw_dds_common", "Iron" },
	{ "rosgraph_msgs", "Humble 1.2.1" },
	{ "sensor_msgs", "Humble 4.2.4" },
	{ "service_msgs", "Jazzy 2.0.2" },
	{ "shape_msgs", "Humble 4.2.4" },
	{ "statistics_msgs", "Humble 1.2.1" },
	{ "std_msgs", "Humble 4.2.4" },
	{ "std_srvs", "Humble 4.2.4" },
	{ "stereo_msgs", "Humble 4.2.4" },
	{ "tf", "Noetic" },
	{ "tf2_msgs", "Humble 0.25.8" },
	{ "tier4_api_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_control_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_debug_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_external_api_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_hmi_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_localization_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_map_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_perception_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_planning_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_rtc_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_simulation_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_system_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_v2x_msgs", "tier4_autoware_msgs, March 2024" },
	{ "tier4_vehicle_msgs", "tier4_autoware_msgs, March 2024" },
	{ "trajectory_msgs", "Humble 4.2.4" },
	{ "type_description_interfaces", "Jazzy 2.0.2" },
	{ "unique_identifier_msgs", "Humble 2.2.1" },
	{ "uuid_msgs", "Noetic" },
	{ "vision_msgs", "Humble 4.1.1" },
	{ "visualization_msgs", "Humble 4.2.4" },
};

static int compare(const void *name, const void *release)
{
	const char *a = name, *b = ((const struct ros_release *)release)->package;
	size_t n = strcspn(a, "/");
	int order = strncmp(a, b, n);

	return order ? order : -(b[n] != '\0');
}

const char *ros_release_of(const char *name)
{
	const struct ros_release *r =
		bsearch(name, releases, sizeof(releases) / sizeof(releases[0]), sizeof(releases[0]), compare);

	return r ? r->release : NULL;
}

const struct ros_release *ros_release_nth(unsigned i)
{
	return i < sizeof(releases) / sizeof(releases[0]) ? &releases[i] : NULL;
}
