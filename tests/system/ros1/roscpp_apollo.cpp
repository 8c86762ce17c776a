// SPDX-License-Identifier: Apache-2.0
// roscpp-apollo: a node as Apollo 1.0 to 3.0 had them: its own traits for messages of protobuf, which roscpp otherwise knows nothing of. It sends
// a ControlCommand and a RoutingRequest, latched, and prints whether the request comes back as it was, and the Chassis that comes, a field of it at
// least. Threads: roscpp's.
#include <cstdio>
#include <cstring>
#include <ros/ros.h>
#include <string>

// Of protobuf only the bytes: what Apollo's code would have parsed.
struct Chassis {
	std::string data;
};
struct ControlCommand {
	std::string data;
};
struct RoutingRequest {
	std::string data;
};

namespace ros
{
namespace message_traits
{
#define TRAITS(T, SUM) \
	template <> struct MD5Sum<T> { \
		static const char *value() \
		{ \
			return SUM; \
		} \
		static const char *value(const T &) \
		{ \
			return SUM; \
		} \
	}; \
	template <> struct DataType<T> { \
		static const char *value() \
		{ \
			return "pb_msgs/" #T; \
		} \
		static const char *value(const T &) \
		{ \
			return "pb_msgs/" #T; \
		} \
	}; \
	template <> struct Definition<T> { \
		static const char *value() \
		{ \
			return "protobuf"; \
		} \
		static const char *value(const T &) \
		{ \
			return "protobuf"; \
		} \
	};
TRAITS(Chassis, "d6a21658031a6a4615858d76f8b5178e")
TRAITS(ControlCommand, "67f7ff8a4c675dc97a8c7ce6d6289943")
TRAITS(RoutingRequest, "fa777a90ccdc55e9e7812c6aa1476814")
} // namespace message_traits

namespace serialization
{
template <class T> struct AsString {
	template <typename Stream> static void write(Stream &stream, const T &m)
	{
		stream.next(m.data);
	}
	template <typename Stream> static void read(Stream &stream, T &m)
	{
		stream.next(m.data);
	}
	static uint32_t serializedLength(const T &m)
	{
		return 4 + static_cast<uint32_t>(m.data.size());
	}
};
template <> struct Serializer<Chassis> : AsString<Chassis> {
};
template <> struct Serializer<ControlCommand> : AsString<ControlCommand> {
};
template <> struct Serializer<RoutingRequest> : AsString<RoutingRequest> {
};
} // namespace serialization
} // namespace ros

// A module's name in its header, and a waypoint on lane "a", 2 m from its beginning.
static const std::string request("\x0a\x04\x12\x02me\x12\x0c\x0a\x01\x61\x11\0\0\0\0\0\0\0\x40", 20);

static void on_request(const boost::shared_ptr<RoutingRequest const> &m)
{
	printf("%s\n", m->data == request ? "the same request" : "another request");
	fflush(stdout);
}

static void on_chassis(const boost::shared_ptr<Chassis const> &m)
{
	size_t at = m->data.find('\x2d'); // speed_mps, of four bytes
	float speed = 0;

	if (at != std::string::npos && at + 5 <= m->data.size())
		memcpy(&speed, m->data.data() + at + 1, sizeof(speed));
	printf("chassis at %g m/s\n", static_cast<double>(speed));
	ros::shutdown();
}

int main(int argc, char **argv)
{
	ControlCommand command;
	RoutingRequest wanted;

	ros::init(argc, argv, "apollo");
	ros::NodeHandle node;
	ros::Publisher control = node.advertise<ControlCommand>("/apollo/control", 1, true);
	ros::Publisher routing = node.advertise<RoutingRequest>("/apollo/routing_request", 1, true);
	ros::Subscriber again = node.subscribe("/apollo/routing_request_again", 1, on_request);
	ros::Subscriber chassis = node.subscribe("/apollo/canbus/chassis", 1, on_chassis);

	command.data = std::string("\x19\0\0\0\0\0\0\x39\x40", 9); // throttle 25
	control.publish(command);
	wanted.data = request;
	routing.publish(wanted);
	printf("ready\n");
	fflush(stdout);
	ros::spin();
	return 0;
}
