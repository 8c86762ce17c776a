// SPDX-License-Identifier: Apache-2.0
// roscpp-listener: a node of roscpp that prints the first image of /camera, and calls nobody. Threads: roscpp's.
#include <cstdio>
#include <numeric>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>

static void on_image(const sensor_msgs::Image &m)
{
	unsigned long sum = std::accumulate(m.data.begin(), m.data.end(), 0ul);

	printf("%u %u.%09u %s: %zu bytes, sum %lu\n", m.header.seq, m.header.stamp.sec, m.header.stamp.nsec,
	       m.header.frame_id.c_str(), m.data.size(), sum);
	ros::shutdown();
}

int main(int argc, char **argv)
{
	ros::init(argc, argv, "cpp_eyes");
	ros::NodeHandle node;
	ros::Subscriber images = node.subscribe("/camera", 1, on_image);

	printf("ready\n");
	fflush(stdout);
	ros::spin();
	return 0;
}
