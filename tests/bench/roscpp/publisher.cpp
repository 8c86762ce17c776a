// SPDX-License-Identifier: Apache-2.0
// bench-roscpp FD: a node of roscpp that sends images of 24 MiB; FD is the arena of ros1_link.h. Threads: roscpp's.
#include <cstdlib>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>
#include <sys/mman.h>

#include "../ros1_arena.h"

namespace
{

struct Sender {
	ros::Publisher publisher;
	sensor_msgs::Image image;
};

int send(void *ctx)
{
	Sender *s = static_cast<Sender *>(ctx);

	s->publisher.publish(s->image);
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	void *arena = argc == 2
			      ? mmap(nullptr, sizeof(ros1_arena), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[1]), 0)
			      : MAP_FAILED;

	if (arena == MAP_FAILED)
		return 2;
	ros::init(argc, argv, "bench_roscpp", ros::init_options::NoSigintHandler | ros::init_options::NoRosout);
	ros::NodeHandle node;
	ros::AsyncSpinner spinner(1);
	Sender s;

	spinner.start();
	s.publisher = node.advertise<sensor_msgs::Image>(ROS1_TOPIC_24, 8);
	s.image.width = ROS1_WIDTH;
	s.image.height = ROS1_HEIGHT_24;
	s.image.step = ROS1_WIDTH * 3;
	s.image.encoding = "rgb8";
	s.image.data.assign(ROS1_DATA_24, 7);
	return ros1_serve(static_cast<ros1_arena *>(arena), ROS1_ROSCPP, send, &s) < 0;
}
