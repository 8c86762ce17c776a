/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Fast DDS program that stands for a ROS node on rmw_fastrtps: types by hand, CDR by Fast CDR. It says on stdout what it
 * discovers and what it decodes, one line each, and writes what its stdin asks for:
 *
 *     fastdds-peer GID [SETTING [PEER]]   GID: bytes of an identity in ros_discovery_info, 16 or 24; SETTING, PEER: of as_rmw()
 *     clock T | image T | picture T | cloud T | imu T | graph        read topic T; a picture is a best-effort image
 *     gear T COMMAND | control T STEER VELOCITY          write, little-endian
 *     gear-be T COMMAND                                  big-endian
 *     raw T TYPE COUNT HEX                               any bytes, COUNT zeros behind them
 *
 * Threads: main reads stdin; Fast DDS' own call the listeners. C++, because Fast DDS has no other interface.
 */
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <fastcdr/Cdr.h>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/domain/DomainParticipantListener.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>

#include "fastdds_node.h"

using eprosima::fastcdr::Cdr;
using eprosima::fastcdr::FastBuffer;

static std::mutex lock; /* of everything below */
static DomainParticipant *participant;
static unsigned gid_size;
static std::map<std::string, std::string> topic_of; /* of each endpoint, by its GUID */
static std::map<std::string, std::string> graph;    /* what was said last, by participant */

/* From any thread, with or without the lock: a line comes out whole. */
static void say(const std::string &line)
{
	static std::mutex whole;
	std::lock_guard<std::mutex> held(whole);

	std::cout << line << std::endl;
}

/* ---- what is decoded ---- */

static void stamp(Cdr &c, std::ostream &o)
{
	int32_t sec;
	uint32_t nanosec;

	c >> sec >> nanosec;
	o << " stamp " << sec << "." << nanosec;
}

static void header(Cdr &c, std::ostream &o)
{
	std::string frame;

	stamp(c, o);
	c >> frame;
	o << " frame " << frame;
}

/* FNV-1a of the octets: what the other side wrote, byte by byte. */
static void octets(Cdr &c, std::ostream &o)
{
	std::vector<uint8_t> data;
	uint32_t hash = 2166136261u;

	c >> data;
	for (uint8_t b : data)
		hash = (hash ^ b) * 16777619u;
	o << " bytes " << data.size() << " hash " << hash;
}

static void clock_(Cdr &c, std::ostream &o)
{
	stamp(c, o);
}

static void image(Cdr &c, std::ostream &o)
{
	uint32_t height, width, step;
	std::string encoding;
	uint8_t big;

	header(c, o);
	c >> height >> width >> encoding >> big >> step;
	o << " " << width << "x" << height << " " << encoding << " big " << int(big) << " step " << step;
	octets(c, o);
}

static void cloud(Cdr &c, std::ostream &o)
{
	uint32_t height, width, n, point_step, row_step;
	bool big, dense;

	header(c, o);
	c >> height >> width >> n;
	o << " " << width << "x" << height;
	for (uint32_t i = 0; i < n; i++) {
		std::string name;
		uint32_t offset, count;
		uint8_t datatype;

		c >> name >> offset >> datatype >> count;
		o << " " << name << "@" << offset << ":" << int(datatype) << "*" << count;
	}
	c >> big >> point_step >> row_step;
	o << " big " << big << " step " << point_step << " " << row_step;
	octets(c, o);
	c >> dense;
	o << " dense " << dense;
}

static void numbers(Cdr &c, std::ostream &o, int n)
{
	for (int i = 0; i < n; i++) {
		double v;

		c >> v;
		o << " " << v;
	}
}

static void imu(Cdr &c, std::ostream &o)
{
	header(c, o);
	numbers(c, o, 4 + 9 + 3 + 9 + 3 + 9);
}

static std::string gid(Cdr &c)
{
	std::string s;

	for (unsigned i = 0; i < gid_size; i++) {
		uint8_t b;
		char hex[3];

		c >> b;
		snprintf(hex, sizeof(hex), "%02x", b);
		s += hex;
	}
	return s;
}

/* Identities, whose 17th byte and on are zeros, stand for topics, once discovery has named them all: lines of `graph` are said then. */
static void say_graph(void)
{
	for (auto &g : graph) {
		std::string line;
		std::istringstream words(g.second);

		for (std::string w; words >> w;) {
			if (w[0] != '#')
				line += " " + w;
			else if (topic_of.count(w.substr(1, 32)))
				line += " " + topic_of[w.substr(1, 32)] +
					(w.find_first_not_of('0', 33) < w.size() ? "?" : "");
			else
				line.clear(), words.setstate(std::ios::failbit);
		}
		if (!line.empty())
			say("graph" + line);
	}
}

static void graph_sample(Cdr &c, std::ostream &)
{
	std::string who = gid(c), said = "#" + who;
	uint32_t nodes, n;

	c >> nodes;
	for (uint32_t i = 0; i < nodes; i++) {
		std::string space, name;

		c >> space >> name;
		said += " node " + space + " " + name;
		for (const char *kind : { " reads", " writes" }) {
			c >> n;
			said += kind;
			for (uint32_t k = 0; k < n; k++)
				said += " #" + gid(c);
		}
	}
	graph[who] = said;
	say_graph();
}

/* ---- listeners ---- */

static std::string hex(const rtps::GUID_t &guid)
{
	std::string s;
	char two[3];

	for (unsigned i = 0; i < 16; i++) {
		snprintf(two, sizeof(two), "%02x", i < 12 ? guid.guidPrefix.value[i] : guid.entityId.value[i - 12]);
		s += two;
	}
	return s;
}

static std::string user_data(const std::vector<rtps::octet> &v)
{
	return std::string(v.begin(), v.end());
}

template <class Qos> static std::string qos(const Qos &q)
{
	return std::string(q.m_reliability.kind == RELIABLE_RELIABILITY_QOS ? "reliable" : "best-effort") +
	       (q.m_durability.kind == TRANSIENT_LOCAL_DURABILITY_QOS ? " transient-local" : " volatile") +
	       " partitions " + std::to_string(q.m_partition.size()) + " " + user_data(q.m_userData.data_vec());
}

class Discovery : public DomainParticipantListener
{
	void on_participant_discovery(DomainParticipant *, rtps::ParticipantDiscoveryInfo &&info) override
	{
		std::lock_guard<std::mutex> held(lock);

		if (info.status != rtps::ParticipantDiscoveryInfo::DISCOVERED_PARTICIPANT)
			return;
		topic_of[hex(info.info.m_guid)] = "participant";
		say("participant " + user_data(info.info.m_userData.data_vec()));
		say_graph();
	}
	void on_publisher_discovery(DomainParticipant *, rtps::WriterDiscoveryInfo &&info) override
	{
		std::lock_guard<std::mutex> held(lock);

		if (info.status != rtps::WriterDiscoveryInfo::DISCOVERED_WRITER)
			return;
		topic_of[hex(info.info.guid())] = info.info.topicName().c_str();
		say(std::string("writer ") + info.info.topicName().c_str() + " " + info.info.typeName().c_str() + " " +
		    qos(info.info.m_qos));
		say_graph();
	}
	void on_subscriber_discovery(DomainParticipant *, rtps::ReaderDiscoveryInfo &&info) override
	{
		std::lock_guard<std::mutex> held(lock);

		if (info.status != rtps::ReaderDiscoveryInfo::DISCOVERED_READER)
			return;
		topic_of[hex(info.info.guid())] = info.info.topicName().c_str();
		say(std::string("reader ") + info.info.topicName().c_str() + " " + info.info.typeName().c_str() + " " +
		    qos(info.info.m_qos));
		say_graph();
	}
};

typedef void (*Decode)(Cdr &, std::ostream &);

class Reading : public DataReaderListener
{
	std::string word;
	Decode decode;

      public:
	Reading(const std::string &w, Decode d) : word(w), decode(d)
	{
	}
	void on_data_available(DataReader *reader) override
	{
		Bytes bytes;
		SampleInfo info;

		while (reader->take_next_sample(&bytes, &info) == ReturnCode_t::RETCODE_OK) {
			std::lock_guard<std::mutex> held(lock);
			FastBuffer buffer(bytes.data(), bytes.size());
			Cdr c(buffer, Cdr::DEFAULT_ENDIAN, Cdr::DDS_CDR);
			std::ostringstream o;

			if (!info.valid_data)
				continue;
			try {
				c.read_encapsulation();
				o << word;
				decode(c, o);
				if (word != "graph")
					say(o.str() + " left " +
					    std::to_string(bytes.size() - c.getSerializedDataLength()));
			} catch (const std::exception &e) {
				say(word + " cannot be decoded: " + e.what());
			}
		}
	}
};

/* ---- endpoints ---- */

static Topic *topic(const std::string &name, const std::string &type)
{
	static std::map<std::string, Topic *> topics;

	if (!topics.count(name)) {
		TypeSupport t(new Raw(type));

		t.register_type(participant, type);
		topics[name] = participant->create_topic(name, type, TOPIC_QOS_DEFAULT);
	}
	return topics[name];
}

static void read_topic(const std::string &word, const std::string &name, const std::string &type, Decode decode,
		       bool keeps)
{
	static Subscriber *subscriber = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
	DataReaderQos q = DATAREADER_QOS_DEFAULT;

	q.reliability().kind = keeps ? RELIABLE_RELIABILITY_QOS : BEST_EFFORT_RELIABILITY_QOS;
	q.durability().kind = keeps ? TRANSIENT_LOCAL_DURABILITY_QOS : VOLATILE_DURABILITY_QOS;
	q.history().kind = keeps ? KEEP_ALL_HISTORY_QOS : KEEP_LAST_HISTORY_QOS;
	q.endpoint().history_memory_policy = rtps::DYNAMIC_RESERVE_MEMORY_MODE;
	if (!subscriber->create_datareader(topic(name, type), q, new Reading(word, decode)))
		say("no reader of " + name);
}

/* Reliable and transient local, as Autoware writes its commands. */
static void write_topic(const std::string &name, const std::string &type, Bytes bytes)
{
	static Publisher *publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
	static std::map<std::string, DataWriter *> writers;
	DataWriterQos q = DATAWRITER_QOS_DEFAULT;

	q.reliability().kind = RELIABLE_RELIABILITY_QOS;
	q.durability().kind = TRANSIENT_LOCAL_DURABILITY_QOS;
	q.history().kind = KEEP_ALL_HISTORY_QOS; /* each of them matters to a test */
	q.publish_mode().kind = ASYNCHRONOUS_PUBLISH_MODE;
	q.endpoint().history_memory_policy = rtps::DYNAMIC_RESERVE_MEMORY_MODE;
	if (!writers.count(name))
		writers[name] = publisher->create_datawriter(topic(name, type), q);
	if (!writers[name] || !writers[name]->write(&bytes))
		say("not written: " + name);
}

static Bytes encode(const std::function<void(Cdr &)> &fill, bool big = false)
{
	Bytes bytes(1024);
	FastBuffer buffer(bytes.data(), bytes.size());
	Cdr c(buffer, big ? Cdr::BIG_ENDIANNESS : Cdr::LITTLE_ENDIANNESS, Cdr::DDS_CDR);

	c.serialize_encapsulation();
	fill(c);
	bytes.resize(c.getSerializedDataLength());
	return bytes;
}

static void zero_time(Cdr &c)
{
	c << int32_t(1) << uint32_t(2);
}

static Bytes gear(int command, bool big)
{
	return encode([&](Cdr &c) { zero_time(c), c << uint8_t(command); }, big);
}

static Bytes control(float steer, float velocity)
{
	return encode([&](Cdr &c) {
		zero_time(c), zero_time(c);
		zero_time(c), zero_time(c);
		c << steer << 0.5f << true;
		zero_time(c), zero_time(c);
		c << velocity << 1.25f << 0.0f << true << false;
	});
}

static Bytes unhex(const std::string &hex, size_t zeros)
{
	Bytes b;

	for (size_t i = 0; i + 1 < hex.size(); i += 2)
		b.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
	b.resize(b.size() + zeros);
	return b;
}

static bool obey(const std::string &line)
{
	static const struct {
		const char *word, *type;
		Decode decode;
		bool keeps;
	} reads[] = {
		{ "clock", "rosgraph_msgs::msg::dds_::Clock_", clock_, false },
		{ "image", "sensor_msgs::msg::dds_::Image_", image, true },
		{ "picture", "sensor_msgs::msg::dds_::Image_", image, false },
		{ "cloud", "sensor_msgs::msg::dds_::PointCloud2_", cloud, true },
		{ "imu", "sensor_msgs::msg::dds_::Imu_", imu, true },
		{ "graph", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_", graph_sample, true },
	};
	static const char gear_type[] = "autoware_vehicle_msgs::msg::dds_::GearCommand_";
	std::istringstream in(line);
	std::string word, name, type, bytes, a, b;
	size_t zeros = 0;

	in >> word >> name;
	for (auto &r : reads)
		if (word == r.word)
			return read_topic(word, name, r.type, r.decode, r.keeps), true;
	if (word == "gear" || word == "gear-be")
		return in >> a, write_topic(name, gear_type, gear(atoi(a.c_str()), word == "gear-be")), true;
	if (word == "control")
		return in >> a >> b,
		       write_topic(name, "autoware_control_msgs::msg::dds_::Control_",
				   control(strtof(a.c_str(), nullptr), strtof(b.c_str(), nullptr))),
		       true;
	if (word == "raw")
		return in >> type >> zeros >> bytes, write_topic(name, type, unhex(bytes, zeros)), true;
	return false;
}

int main(int argc, char **argv)
{
	Discovery discovery;

	gid_size = argc > 1 ? static_cast<unsigned>(atoi(argv[1])) : 16;
	participant = DomainParticipantFactory::get_instance()->create_participant(
		0, argc > 2 ? as_rmw(argv[2], argc > 3 ? argv[3] : nullptr) : over_loopback(), &discovery,
		StatusMask::none());
	if (!participant)
		return 1;
	say("ready");
	for (std::string line; std::getline(std::cin, line);)
		if (!obey(line))
			say("not understood: " + line);
	if (argc > 2 && participant->delete_contained_entities() == ReturnCode_t::RETCODE_OK)
		DomainParticipantFactory::get_instance()->delete_participant(participant);
	_exit(0); /* without a setting it goes as one that is killed: what is kept needs no goodbye */
}
