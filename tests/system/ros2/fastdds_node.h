/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs on Fast DDS share: a participant as the tests' namespaces need it, and types that are bytes. C++. */
#ifndef TEST_FASTDDS_NODE_H
#define TEST_FASTDDS_NODE_H

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fastdds/dds/domain/qos/DomainParticipantQos.hpp>
#include <fastdds/dds/topic/TopicDataType.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <fastdds/rtps/transport/shared_mem/SharedMemTransportDescriptor.h>

using namespace eprosima::fastdds::dds;
namespace rtps = eprosima::fastrtps::rtps;

typedef std::vector<char> Bytes;

/* A type is its name: samples are bytes, with the four of the encapsulation. */
class Raw : public TopicDataType
{
      public:
	explicit Raw(const std::string &name)
	{
		setName(name.c_str());
		m_typeSize = 32u << 20;
		m_isGetKeyDefined = false;
		auto_fill_type_object(false);
		auto_fill_type_information(false);
	}
	bool serialize(void *data, rtps::SerializedPayload_t *p) override
	{
		const Bytes &b = *static_cast<Bytes *>(data);

		if (b.size() > p->max_size)
			return false;
		memcpy(p->data, b.data(), b.size());
		p->length = static_cast<uint32_t>(b.size());
		p->encapsulation = CDR_LE;
		return true;
	}
	bool deserialize(rtps::SerializedPayload_t *p, void *data) override
	{
		static_cast<Bytes *>(data)->assign(p->data, p->data + p->length);
		return true;
	}
	std::function<uint32_t()> getSerializedSizeProvider(void *data) override
	{
		return [data]() { return static_cast<uint32_t>(static_cast<Bytes *>(data)->size()); };
	}
	void *createData() override
	{
		return new Bytes;
	}
	void deleteData(void *data) override
	{
		delete static_cast<Bytes *>(data);
	}
	bool getKey(void *, rtps::InstanceHandle_t *, bool) override
	{
		return false;
	}
};

static inline void add_enclave(DomainParticipantQos &q)
{
	static const char enclave[] = "enclave=/;";

	q.user_data().data_vec(std::vector<rtps::octet>(enclave, enclave + sizeof(enclave) - 1));
}

/*
 * As rmw_fastrtps makes it: "default", and for SUBNET; "localhost-only" for Humble's ROS_LOCALHOST_ONLY=1; "localhost" and "off" for
 * ROS_AUTOMATIC_DISCOVERY_RANGE. peer: an address of ROS_STATIC_PEERS, or NULL.
 */
static inline DomainParticipantQos as_rmw(const std::string &setting, const char *peer)
{
	DomainParticipantQos q = PARTICIPANT_QOS_DEFAULT;
	auto &builtin = q.wire_protocol().builtin;
	rtps::Locator_t locator;

	if (setting == "localhost-only") {
		auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();

		udp->interfaceWhiteList.push_back("127.0.0.1");
		q.transport().use_builtin_transports = false;
		q.transport().user_transports.push_back(udp);
		q.transport().user_transports.push_back(
			std::make_shared<eprosima::fastdds::rtps::SharedMemTransportDescriptor>());
	} else if (setting == "localhost") {
		builtin.metatrafficMulticastLocatorList.clear();
		builtin.metatrafficUnicastLocatorList.push_back(locator); /* so that none for multicast is made */
		rtps::IPLocator::setIPv4(locator, "127.0.0.1");
		builtin.initialPeersList.push_back(locator);
	} else if (setting == "off") {
		builtin.discovery_config.discoveryProtocol = rtps::DiscoveryProtocol_t::NONE;
	}
	if (peer && setting != "off" && setting != "localhost-only") {
		rtps::IPLocator::setIPv4(locator, peer);
		builtin.initialPeersList.push_back(locator);
	}
	builtin.readerHistoryMemoryPolicy = builtin.writerHistoryMemoryPolicy =
		rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
	add_enclave(q);
	return q;
}

/* Over loopback and without multicast, as the tests' namespaces have it: peers are looked for by their numbers. */
static inline DomainParticipantQos over_loopback(void)
{
	DomainParticipantQos q = PARTICIPANT_QOS_DEFAULT;
	auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();

	udp->interfaceWhiteList.push_back("127.0.0.1");
	q.transport().use_builtin_transports = false;
	q.transport().user_transports.push_back(udp);
	for (unsigned i = 0; i < 12; i++) {
		rtps::Locator_t peer(LOCATOR_KIND_UDPv4, 7410 + 2 * i);

		rtps::IPLocator::setIPv4(peer, 127, 0, 0, 1);
		q.wire_protocol().builtin.initialPeersList.push_back(peer);
	}
	q.wire_protocol().builtin.discovery_config.leaseDuration_announcementperiod =
		eprosima::fastrtps::Duration_t(0, 200000000);
	add_enclave(q);
	return q;
}

#endif
