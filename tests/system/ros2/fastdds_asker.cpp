/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Fast DDS program that calls a service, or is one, as a node of rmw_fastrtps does: QoS, and who asks in the inline QoS. The
 * service is that of test_fastdds_service.c: three doubles, who asks, the how manieth call it is and how long a text is wanted; the
 * reply says all that again in a text of that length.
 *
 *     fastdds-asker call SERVICE key=value ...     0: each call has its answer
 *         asker=N calls=N size=BYTES               open=N at once (1)
 *         async=1                                  the other of rmw_fastrtps' two ways to publish
 *         loss=N                                   of the packets that it sends each N-th is lost
 *         garble=N                                 so many packets with inline QoS have some of it overwritten first
 *         early=1                                  nobody hears of its writer until its first request is written
 *     fastdds-asker serve SERVICE key=value ...    until it is killed, or:
 *         async=1 loss=N                           as above
 *         writer=1                                 replies are to who wrote the request, not to the reader that it names
 *         twice=1                                  each reply comes twice
 *         foreign=N                                N replies to others, and to numbers not asked yet, go before each
 *         silent=N                                 the N-th request has no answer
 *         leaves=N                                 it leaves when it has the N-th request
 *         longer=BYTES                             is added to the length of a text
 *         named=1                                  a request that names no reader, as no node's, has no answer
 *     fastdds-asker calls -                        as caller.h has it: a line "TIMES SERVICE TYPE REQUEST" of stdin, one of stdout for the last reply; "-": wait until there is none of the services, ".": end
 *
 * Its sendto() stands before the C library's. Threads: main calls; Fast DDS' own call the listeners. C++, because Fast DDS has no
 * other interface.
 */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/rtps/common/WriteParams.h>

#include "fastdds_node.h"
#include "tests/support/wait.h"

typedef std::chrono::steady_clock Clock;

#define PREFIX "demo::srv::dds_::Echo_"

static std::map<std::string, long> options;

static long option(const char *name, long deflt)
{
	return options.count(name) ? options[name] : deflt;
}

/* ---- what becomes of packets ---- */

static std::atomic<unsigned> packets, garbled;
static std::atomic<bool> calling; /* discovery is left alone */
static std::atomic<bool> asked;

/* The inline QoS of the first DATA or DATA_FRAG: where it begins. 0: there is none. */
static size_t inline_qos(const uint8_t *p, size_t n)
{
	for (size_t at = 20; at + 8 <= n;) {
		size_t len = p[at + 2] | p[at + 3] << 8;

		if ((p[at] == 0x15 || p[at] == 0x16) && p[at + 1] & 2)
			return at + 8 + (p[at + 6] | p[at + 7] << 8);
		at += 4 + len;
	}
	return 0;
}

/* Whether it tells of writers: DATA of the one that discovery has for them. */
static bool of_writers(const uint8_t *p, size_t n)
{
	static const uint8_t entity[] = { 0x00, 0x00, 0x03, 0xc2 };

	for (size_t at = 20; at + 16 <= n; at += 4 + (p[at + 2] | p[at + 3] << 8))
		if (p[at] == 0x15 && memcmp(p + at + 12, entity, 4) == 0)
			return true;
	return false;
}

/* By turns: a length, a parameter's number, any byte, the vendor, the sentinel; the numbers say which. */
static void garble(std::vector<uint8_t> &b)
{
	size_t at = inline_qos(b.data(), b.size());
	unsigned k = garbled;

	if (!at || at + 32 > b.size() || long(k) >= option("garble", 0))
		return;
	garbled++;
	switch (k % 6) {
	case 0:
		b[at + 2] = static_cast<uint8_t>(k * 37);
		b[at + 3] = static_cast<uint8_t>(k * 11);
		break;
	case 1:
		b[at] ^= static_cast<uint8_t>(1 + k);
		break;
	case 2:
		b[at + 4 + k % 24] ^= static_cast<uint8_t>(1 + k);
		break;
	case 3:
		b[6] = static_cast<uint8_t>(k);
		b[7] = static_cast<uint8_t>(k * 7);
		break;
	case 4:
		b[at + 28] = 0x70; /* no sentinel */
		break;
	default:
		b[at + 2] = 20; /* four bytes short */
	}
}

typedef ssize_t Sendto(int, const void *, size_t, int, const struct sockaddr *, socklen_t);

extern "C" __attribute__((visibility("default"), used)) ssize_t sendto(int fd, const void *data, size_t n, int flags,
								       const struct sockaddr *to, socklen_t to_len)
{
	long loss = option("loss", 0);
	std::vector<uint8_t> copy(static_cast<const uint8_t *>(data), static_cast<const uint8_t *>(data) + n);

	if (option("early", 0) && !asked && of_writers(copy.data(), n))
		return static_cast<ssize_t>(n);
	if (calling && to && to->sa_family == AF_INET) {
		if (loss && packets++ % loss == 0)
			return static_cast<ssize_t>(n);
		garble(copy);
	}
	return syscall(SYS_sendto, fd, copy.data(), n, flags, to, to_len);
}

/* ---- endpoints ---- */

struct Written : DataWriterListener {
	std::atomic<int> n{ 0 };
	std::mutex lock;
	std::set<rtps::GUID_t> readers;

	void on_publication_matched(DataWriter *, const PublicationMatchedStatus &s) override
	{
		std::lock_guard<std::mutex> held(lock);

		n += s.current_count_change;
		if (s.current_count_change > 0)
			readers.insert(rtps::iHandle2GUID(s.last_subscription_handle));
		else
			readers.erase(rtps::iHandle2GUID(s.last_subscription_handle));
	}

	bool has(const rtps::GUID_t &reader)
	{
		std::lock_guard<std::mutex> held(lock);

		return readers.count(reader) > 0;
	}
};
struct Reply {
	Bytes bytes;
	SampleInfo info;
};

/*
 * What comes is taken by the thread that it comes with. Each reader gets the replies to all, and remembers ten: another thread that does
 * not get to the processor for a while would lose its own, for which nothing but the machine is to blame.
 */
struct Read : DataReaderListener {
	std::atomic<int> n{ 0 };
	std::mutex lock;
	std::condition_variable came;
	std::deque<Reply> replies;

	void on_subscription_matched(DataReader *, const SubscriptionMatchedStatus &s) override
	{
		n += s.current_count_change;
	}

	void on_data_available(DataReader *reader) override
	{
		std::lock_guard<std::mutex> held(lock);
		Reply r;

		while (reader->take_next_sample(&r.bytes, &r.info) == ReturnCode_t::RETCODE_OK)
			replies.push_back(r);
		came.notify_one();
	}

	bool next(Reply &r)
	{
		std::lock_guard<std::mutex> held(lock);

		if (replies.empty())
			return false;
		r = replies.front();
		replies.pop_front();
		return true;
	}

	void wait(std::chrono::milliseconds most)
	{
		std::unique_lock<std::mutex> held(lock);

		came.wait_for(held, most, [this] { return !replies.empty(); });
	}
};

struct Node {
	DomainParticipant *participant = nullptr;
	DataReader *reader;
	DataWriter *writer;
	Written written;
	Read read;
};

static Topic *topic(DomainParticipant *p, const std::string &name, const std::string &type)
{
	TypeSupport t(new Raw(type));

	t.register_type(p);
	return p->create_topic(name, type, TOPIC_QOS_DEFAULT);
}

/* QoS as rmw_fastrtps makes it of rmw_qos_profile_services_default. */
static bool open(Node &n, const std::string &service, const std::string &type, bool serves)
{
	DataWriterQos w = DATAWRITER_QOS_DEFAULT;
	DataReaderQos r = DATAREADER_QOS_DEFAULT;
	Topic *request, *reply;

	if (!n.participant)
		n.participant = DomainParticipantFactory::get_instance()->create_participant(0, over_loopback());
	if (!n.participant)
		return false;
	request = topic(n.participant, "rq" + service + "Request", type + "Request_");
	reply = topic(n.participant, "rr" + service + "Reply", type + "Response_");
	w.endpoint().history_memory_policy = r.endpoint().history_memory_policy =
		rtps::PREALLOCATED_WITH_REALLOC_MEMORY_MODE;
	w.data_sharing().off();
	r.data_sharing().off();
	w.reliability().kind = r.reliability().kind = RELIABLE_RELIABILITY_QOS;
	w.durability().kind = r.durability().kind = VOLATILE_DURABILITY_QOS;
	w.history().kind = r.history().kind = KEEP_LAST_HISTORY_QOS;
	w.history().depth = r.history().depth = 10;
	w.publish_mode().kind = option("async", 0) ? ASYNCHRONOUS_PUBLISH_MODE : SYNCHRONOUS_PUBLISH_MODE;
	if (option("loss", 0) || option("early", 0)) /* three seconds, else, for each request that is lost */
		w.reliable_writer_qos().times.heartbeatPeriod = eprosima::fastrtps::Duration_t(0, 10000000);
	n.reader = n.participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT)
			   ->create_datareader(serves ? request : reply, r, &n.read,
					       StatusMask::subscription_matched() << StatusMask::data_available());
	n.writer =
		n.participant->create_publisher(PUBLISHER_QOS_DEFAULT)
			->create_datawriter(serves ? reply : request, w, &n.written, StatusMask::publication_matched());
	return n.reader && n.writer;
}

/* ---- calling ---- */

static Bytes request(double asker, double number, double size)
{
	const double v[] = { asker, number, size };
	Bytes b(4 + sizeof(v));

	b[1] = 1;
	memcpy(b.data() + 4, v, sizeof(v));
	return b;
}

static bool right(const Bytes &b, long asker, long number, size_t size)
{
	std::string want = std::to_string(asker) + " " + std::to_string(number) + " ";
	uint32_t len = 0;

	if (want.size() < size)
		want.resize(size, 'z');
	if (b.size() < 12 || b[4] != 1)
		return false;
	memcpy(&len, b.data() + 8, sizeof(len));
	return len == want.size() + 1 && b.size() >= 12 + len && memcmp(b.data() + 12, want.c_str(), len) == 0;
}

static int64_t number_of(const rtps::SequenceNumber_t &s)
{
	return static_cast<int64_t>(s.high) << 32 | s.low;
}

typedef std::map<int64_t, long> Open; /* the how manieth call, by its number on the wire */

static bool ask(Node &n, Open &open, long number)
{
	Bytes b = request(option("asker", 1), number, option("size", 0));
	rtps::WriteParams w;

	w.related_sample_identity().writer_guid() = n.reader->guid();
	if (!n.writer->write(&b, w))
		return false;
	open[number_of(w.sample_identity().sequence_number())] = number;
	asked = true;
	return true;
}

/* false: something is wrong with a reply of ours. */
static bool take(Node &n, Open &open)
{
	static std::set<int64_t> answered;
	Reply r;

	while (n.read.next(r)) {
		const rtps::SampleIdentity &to = r.info.related_sample_identity;
		int64_t number = number_of(to.sequence_number());

		if (!r.info.valid_data ||
		    (to.writer_guid() != n.reader->guid() && to.writer_guid() != n.writer->guid()))
			continue;
		if (answered.count(number)) /* once more */
			continue;
		if (!open.count(number) || !right(r.bytes, option("asker", 1), open[number], option("size", 0)))
			return false;
		open.erase(number);
		answered.insert(number);
	}
	return true;
}

static int fail(const char *what, long calls, size_t open)
{
	fprintf(stderr, "fastdds-asker %ld: %s after %ld calls, %zu of them unanswered\n", option("asker", 1), what,
		calls, open);
	return 1;
}

/* Those that are garbled have an answer or not; what follows must. */
static int call(Node &n)
{
	long calls = option("calls", 1), asked = 0, first = option("garble", 0);
	Open open;

	calling = true;
	for (; asked < first; asked++) {
		ask(n, open, asked);
		n.read.wait(std::chrono::milliseconds(20));
		take(n, open);
	}
	open.clear();
	for (Clock::time_point last = Clock::now(); asked < first + calls || !open.empty();) {
		size_t before = open.size();

		while (asked < first + calls && long(open.size()) < option("open", 1))
			if (!ask(n, open, asked++))
				return fail("cannot write", asked, open.size());
		n.read.wait(std::chrono::milliseconds(100));
		if (!take(n, open))
			return first ? 0 : fail("a wrong reply", asked, open.size());
		if (open.size() != before) {
			last = Clock::now();
		} else if (Clock::now() - last > std::chrono::seconds(20)) { /* it waits on, until the runner's limit */
			(void)fail("no reply yet", asked, open.size());
			last = Clock::now();
		}
	}
	return 0;
}

/* ---- serving ---- */

/* "X Y ", then as many z as make it Z long. */
static Bytes reply_to(const Bytes &request)
{
	double v[3];
	Bytes b(12);
	std::string text;
	uint32_t len;

	memcpy(v, request.data() + 4, sizeof(v));
	text = std::to_string(static_cast<long>(v[0])) + " " + std::to_string(static_cast<long>(v[1])) + " ";
	if (text.size() < v[2])
		text.resize(static_cast<size_t>(v[2]) + option("longer", 0), 'z');
	len = static_cast<uint32_t>(text.size() + 1);
	b[1] = 1;
	b[4] = 1;
	memcpy(b.data() + 8, &len, sizeof(len));
	b.insert(b.end(), text.c_str(), text.c_str() + len);
	b.resize((b.size() + 3) / 4 * 4);
	return b;
}

static void write_to(Node &n, Bytes b, const rtps::SampleIdentity &to)
{
	rtps::WriteParams w;

	w.related_sample_identity(to);
	n.writer->write(&b, w);
}

/* To other readers, of the same request; and to that one, of requests that it has not made. */
static void write_foreign(Node &n, const Bytes &b, const rtps::SampleIdentity &to)
{
	for (long i = 1; i <= option("foreign", 0); i++) {
		rtps::SampleIdentity other = to, later = to;
		rtps::GUID_t guid = to.writer_guid();

		guid.guidPrefix.value[i % 12] ^= static_cast<rtps::octet>(i);
		other.writer_guid(guid);
		later.sequence_number(rtps::SequenceNumber_t(0, to.sequence_number().low + i));
		write_to(n, b, other);
		write_to(n, b, later);
	}
}

/* As rmw_fastrtps does: a reply waits until the reader that the request names is known. */
static void answer(Node &n, const Reply &r)
{
	rtps::SampleIdentity to = r.info.sample_identity;
	rtps::GUID_t reader = r.info.related_sample_identity.writer_guid();

	if (reader != rtps::GUID_t::unknown()) {
		AWAIT(n.written.has(reader));
		if (!option("writer", 0))
			to.writer_guid(reader);
	}
	write_foreign(n, reply_to(r.bytes), to);
	for (long i = 0; i <= option("twice", 0); i++)
		write_to(n, reply_to(r.bytes), to);
}

static int serve(Node &n)
{
	Reply r;

	calling = true;
	for (long asked = 0;;) {
		n.read.wait(std::chrono::milliseconds(100));
		while (n.read.next(r)) {
			if (!r.info.valid_data || r.bytes.size() < 28)
				continue;
			if (++asked == option("leaves", 0))
				return 0;
			if (option("named", 0) &&
			    r.info.related_sample_identity.writer_guid() == rtps::GUID_t::unknown())
				continue;
			if (asked != option("silent", 0))
				answer(n, r);
		}
	}
}

/* ---- any service ---- */

static Bytes from_hex(const std::string &hex)
{
	Bytes b(4);

	b[1] = 1;
	for (size_t i = 0; i + 1 < hex.size(); i += 2)
		b.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
	return b;
}

static void print_hex(const Bytes &b)
{
	for (size_t i = 4; i < b.size(); i++)
		printf("%02x", static_cast<unsigned char>(b[i]));
	putchar('\n');
	fflush(stdout);
}

static bool call_raw(Node &n, Bytes request, unsigned times)
{
	rtps::WriteParams w;
	Reply r;

	AWAIT(n.read.n > 0 && n.written.n > 0);
	for (unsigned i = 0; i < times; i++) {
		w = rtps::WriteParams();
		w.related_sample_identity().writer_guid() = n.reader->guid();
		if (!n.writer->write(&request, w))
			return false;
	}
	for (;;) {
		const rtps::SampleIdentity &to = r.info.related_sample_identity;

		n.read.wait(std::chrono::milliseconds(100));
		if (n.read.next(r) && r.info.valid_data &&
		    number_of(to.sequence_number()) == number_of(w.sample_identity().sequence_number()) &&
		    (to.writer_guid() == n.reader->guid() || to.writer_guid() == n.writer->guid()))
			break;
	}
	print_hex(r.bytes);
	return true;
}

static void wait_gone(std::map<std::string, std::unique_ptr<Node>> &nodes)
{
	for (auto &n : nodes)
		AWAIT(n.second->read.n == 0 && n.second->written.n == 0);
	print_hex(Bytes());
}

static int calls()
{
	std::map<std::string, std::unique_ptr<Node>> nodes;
	DomainParticipant *participant = nullptr;
	std::string line, service, type, hex;
	unsigned times;

	while (std::getline(std::cin, line) && line != ".") {
		std::istringstream words(line);
		bool ok;

		if (line == "-") {
			wait_gone(nodes);
			continue;
		}
		hex.clear();
		words >> times >> service >> type >> hex;
		if (!nodes[service]) {
			nodes[service] = std::make_unique<Node>();
			nodes[service]->participant = participant;
			ok = open(*nodes[service], service, type, false);
			participant = nodes[service]->participant;
			if (!ok)
				return 2;
		}
		if (!call_raw(*nodes[service], from_hex(hex), times))
			return 1;
	}
	if (participant) {
		participant->delete_contained_entities();
		DomainParticipantFactory::get_instance()->delete_participant(participant);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static Node n;
	bool serves;
	int r;

	if (argc > 1 && strcmp(argv[1], "calls") == 0)
		return calls();

	for (int i = 3; i < argc; i++) {
		std::string s = argv[i];

		options[s.substr(0, s.find('='))] = atol(s.c_str() + s.find('=') + 1);
	}
	serves = argc > 1 && strcmp(argv[1], "serve") == 0;
	if (argc < 3 || (!serves && strcmp(argv[1], "call") != 0) || !open(n, argv[2], PREFIX, serves))
		return 2;
	if (!serves)
		AWAIT(n.read.n > 0 && n.written.n > 0); /* as service_is_available() does: no longer */
	r = serves ? serve(n) : call(n);
	n.participant->delete_contained_entities();
	DomainParticipantFactory::get_instance()->delete_participant(n.participant);
	return r;
}
