# SPDX-License-Identifier: Apache-2.0
# The definitions of Apollo 5 out of those of Apollo 10: lines that end with "// 10" are of 10 alone, those with "// 5" of 5, and the
# folders have other names. Applied to the definitions and, as the paths lie in lines of their own, to the list of files.
/ \/\/ 10$/d
s| // 5$||
s|modules/common_msgs/basic_msgs/vehicle_id|modules/common/configs/proto/vehicle_config|
s|modules/common_msgs/basic_msgs/|modules/common/proto/|
s|modules/common_msgs/sensor_msgs/gnss_best_pose|modules/drivers/gnss/proto/gnss_best_pose|
s|modules/common_msgs/sensor_msgs/imu|modules/drivers/gnss/proto/imu|
s|modules/common_msgs/sensor_msgs/ins|modules/drivers/gnss/proto/ins|
s|modules/common_msgs/sensor_msgs/|modules/drivers/proto/|
s|modules/common_msgs/chassis_msgs/|modules/canbus/proto/|
s|modules/common_msgs/\([a-z]*\)_msgs/|modules/\1/proto/|
