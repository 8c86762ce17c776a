// SPDX-License-Identifier: Apache-2.0
// Messages of protobuf without a mapping, against libprotobuf: of every message that Apollo has, in both families, and of what protobuf can say
// besides, what it writes becomes a body of ours and the same bytes again; numbers and texts have the values that it reads.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <string>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>

extern "C" {
#include <sim/introspect.h>

#include "pb_type.h"
}

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::DynamicMessageFactory;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptorSet;
using google::protobuf::Message;
using google::protobuf::Reflection;

static int failures;
static std::mt19937_64 generator(7);
static unsigned pieces; // of the message that is filled

static void fail(const std::string &where, const char *what)
{
	std::fprintf(stderr, "%s: %s\n", where.c_str(), what);
	failures++;
}

// ---- random messages ----

static unsigned below(unsigned n)
{
	return (unsigned)(generator() % n);
}

// Every length that a varint may have, and the ends.
static uint64_t number()
{
	static const uint64_t ends[] = { 0,          1,         UINT64_MAX,          INT64_MAX,  (uint64_t)INT64_MIN,
					 UINT32_MAX, INT32_MAX, (uint64_t)INT32_MIN, 0x80000000u };

	if (below(4) == 0)
		return 0;
	return below(4) ? generator() >> below(64) : ends[below(sizeof(ends) / sizeof(ends[0]))];
}

static double real()
{
	static const double ends[] = { 0, -0.0, INFINITY, -INFINITY, 1e-310, -1.5, 1e300 };

	return below(4) ? (double)(int64_t)generator() / 1e6 : ends[below(sizeof(ends) / sizeof(ends[0]))];
}

static std::string text(bool bytes)
{
	std::string s(below(4) ? below(20) : below(4) ? 0 : below(3000), ' ');

	for (char &c : s)
		c = (char)(bytes ? below(256) : below(128));
	return s;
}

static void fill(Message *m, unsigned depth);

static void put(Message *m, const FieldDescriptor *f, bool add, unsigned depth)
{
	const Reflection *r = m->GetReflection();

#define PUT(Name, value) (add ? r->Add##Name(m, f, value) : r->Set##Name(m, f, value))
	switch (f->cpp_type()) {
	case FieldDescriptor::CPPTYPE_INT32:
		PUT(Int32, (int32_t)number());
		break;
	case FieldDescriptor::CPPTYPE_INT64:
		PUT(Int64, (int64_t)number());
		break;
	case FieldDescriptor::CPPTYPE_UINT32:
		PUT(UInt32, (uint32_t)number());
		break;
	case FieldDescriptor::CPPTYPE_UINT64:
		PUT(UInt64, number());
		break;
	case FieldDescriptor::CPPTYPE_DOUBLE:
		PUT(Double, real());
		break;
	case FieldDescriptor::CPPTYPE_FLOAT:
		PUT(Float, (float)real());
		break;
	case FieldDescriptor::CPPTYPE_BOOL:
		PUT(Bool, below(2));
		break;
	case FieldDescriptor::CPPTYPE_ENUM:
		PUT(Enum, f->enum_type()->value((int)below((unsigned)f->enum_type()->value_count())));
		break;
	case FieldDescriptor::CPPTYPE_STRING:
		PUT(String, text(f->type() == FieldDescriptor::TYPE_BYTES));
		break;
	case FieldDescriptor::CPPTYPE_MESSAGE:
		fill(add ? r->AddMessage(m, f) : r->MutableMessage(m, f), depth + 1);
		break;
	}
#undef PUT
}

// A field of a message that nests deep is given more rarely, so that messages end. Of a map each key once, as libprotobuf wants it.
static void fill(Message *m, unsigned depth)
{
	const Descriptor *d = m->GetDescriptor();

	for (int i = 0; i < d->field_count(); i++) {
		const FieldDescriptor *f = d->field(i);
		bool deep = f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && (depth > 12 || pieces > 3000);

		pieces++;
		if (f->type() == FieldDescriptor::TYPE_GROUP || (deep && !f->is_required()) ||
		    (below(3) == 0 && !f->is_required()))
			continue;
		if (f->is_map())
			put(m, f, true, depth);
		else if (f->is_repeated())
			for (unsigned n = below(4); n > 0; n--)
				put(m, f, true, depth);
		else
			put(m, f, false, depth);
	}
}

// ---- values ----

static bool is_close(const sim_field_view &v, double want)
{
	double have = 0;

	return sim_field_number(&v, 0, &have) == 0 && (have == want || (std::isnan(have) && std::isnan(want)));
}

static void compare_value(const Message &m, const FieldDescriptor *f, const sim_field_view &v, const void *body)
{
	const Reflection *r = m.GetReflection();
	double want = 0;

	switch (f->cpp_type()) {
	case FieldDescriptor::CPPTYPE_INT32:
		want = r->GetInt32(m, f);
		break;
	case FieldDescriptor::CPPTYPE_INT64:
		want = (double)r->GetInt64(m, f);
		break;
	case FieldDescriptor::CPPTYPE_UINT32:
		want = r->GetUInt32(m, f);
		break;
	case FieldDescriptor::CPPTYPE_UINT64:
		want = (double)r->GetUInt64(m, f);
		break;
	case FieldDescriptor::CPPTYPE_DOUBLE:
		want = r->GetDouble(m, f);
		break;
	case FieldDescriptor::CPPTYPE_FLOAT:
		want = r->GetFloat(m, f);
		break;
	case FieldDescriptor::CPPTYPE_BOOL:
		want = r->GetBool(m, f);
		break;
	case FieldDescriptor::CPPTYPE_ENUM:
		want = r->GetEnumValue(m, f);
		break;
	case FieldDescriptor::CPPTYPE_STRING: {
		const std::string s = r->GetString(m, f);
		const sim_span *span = (const sim_span *)v.data;
		const bool bytes = f->type() == FieldDescriptor::TYPE_BYTES;
		const size_t n = bytes ? v.count : span->count;

		if (n != s.size() ||
		    (n && memcmp(bytes ? v.data : (const char *)body + span->offset, s.data(), n) != 0))
			fail(f->full_name(), "another text");
		return;
	}
	default:
		return;
	}
	if (!is_close(v, want))
		fail(f->full_name(), "another value");
}

// What stands in the message itself, absent fields with their defaults, and in what it nests once.
static void compare(const Message &m, const sim_type *type, const std::string &path, const void *body, size_t size,
		    unsigned depth)
{
	const Descriptor *d = m.GetDescriptor();
	const Reflection *r = m.GetReflection();

	for (int i = 0; i < d->field_count(); i++) {
		const FieldDescriptor *f = d->field(i);
		sim_field_path at;
		sim_field_view v;

		if (f->is_repeated() || sim_field_find(type, (path + f->name()).c_str(), &at) != 0)
			continue;
		if (sim_field_get(&at, body, size, &v) != 0)
			fail(f->full_name(), "cannot be got");
		else if (f->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
			compare_value(m, f, v, body);
		else if (v.field->kind == SIM_KIND_MESSAGE && !d->options().map_entry() &&
			 v.count != (r->HasField(m, f) ? 1u : 0u))
			fail(f->full_name(), "there or not there");
		else if (v.field->kind == SIM_KIND_MESSAGE && v.count && depth < 5)
			compare(r->GetMessage(m, f), type, path + f->name() + "[0].", body, size, depth + 1);
	}
}

// ---- round trips ----

static std::string again(const pb_type *t, const void *body, size_t size, int *ret)
{
	iovec iov[IOV_BUF_PIECES];
	iov_buf out;
	std::string s;

	iov_buf_init(&out);
	*ret = pb_type_encode(t, body, size, &out);
	for (unsigned i = 0, n = iov_buf_iov(&out, iov); i < n; i++)
		s.append((const char *)iov[i].iov_base, iov[i].iov_len);
	iov_buf_finish(&out);
	return s;
}

static void round_trip(const pb_type *t, dec_pb *d, const Message &m)
{
	static uint8_t body[1 << 24] __attribute__((aligned(64)));
	const std::string bytes = m.SerializePartialAsString(), &name = m.GetDescriptor()->full_name();
	message_in to = {};
	int r;

	to.buf = body;
	to.room = sizeof(body);
	r = pb_type_decode(t, d, bytes.data(), bytes.size(), &to);

	if (r != 0 || sim_msg_check(pb_type_sim(t), body, to.size) != 0) {
		fail(name, r != 0 ? std::strerror(-r) : "an unsound body");
		return;
	}
	compare(m, pb_type_sim(t), "", body, to.size, 0);
	if (again(t, body, to.size, &r) != bytes || r != 0)
		fail(name, "other bytes");
}

static void hold_type(const std::string &set, const Descriptor *d, DynamicMessageFactory &factory,
		      std::set<std::string> &losses)
{
	static dec_pb decoder;
	pb_type *t = nullptr, *back = nullptr;
	char why[300] = "";

	if (pb_type_create(set.data(), set.size(), d->full_name().c_str(), &t, why, sizeof(why)) < 0) {
		fail(d->full_name(), why);
		return;
	}
	if (pb_type_of_sim(pb_type_sim(t), &back, why, sizeof(why)) < 0 || d->full_name() != pb_type_name(back)) {
		fail(d->full_name(), why);
	} else {
		dec_pb_init(&decoder);
		for (unsigned i = 0; i < 24; i++) {
			Message *m = factory.GetPrototype(d)->New();

			pieces = 0;
			if (i)
				fill(m, 0);
			round_trip(i % 2 ? t : back, &decoder, *m);
			delete m;
		}
		dec_pb_finish(&decoder);
	}
	if (pb_type_loss(t))
		losses.insert(d->full_name());
	pb_type_destroy(back);
	pb_type_destroy(t);
}

static void hold_nested(const std::string &set, const Descriptor *d, DynamicMessageFactory &factory,
			std::set<std::string> &losses)
{
	hold_type(set, d, factory, losses);
	for (int i = 0; i < d->nested_type_count(); i++)
		hold_nested(set, d->nested_type(i), factory, losses);
}

static void hold(const char *path, const std::set<std::string> &known)
{
	std::ifstream in(path, std::ios::binary);
	const std::string set((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
	std::set<std::string> losses;
	FileDescriptorSet all;
	DescriptorPool pool;
	DynamicMessageFactory factory;

	if (!all.ParseFromString(set) || all.file_size() == 0)
		fail(path, "no set of descriptors");
	for (const auto &file : all.file()) {
		const auto *built = pool.BuildFile(file);

		for (int i = 0; built && i < built->message_type_count(); i++)
			hold_nested(set, built->message_type(i), factory, losses);
	}
	for (const std::string &name : losses)
		if (!known.count(name))
			fail(name, "is not carried field by field, and not in the list");
	for (const std::string &name : known)
		if (!losses.count(name))
			fail(name, "is carried field by field, and in the list");
}

int main()
{
	// Those that nest deeper, or more types, than ours may: the inner ones are carried as bytes.
	const std::set<std::string> deep = { "apollo.hdmap.Road",
					     "apollo.hdmap.Map",
					     "apollo.relative_map.MapMsg",
					     "apollo.planning_internal.Debug",
					     "apollo.planning_internal.PlanningData",
					     "apollo.planning.ADCTrajectory" };

	hold(PB_SETS "apollo5/protoc.bin", deep);
	hold(PB_SETS "apollo10/protoc.bin", deep);
	hold(PB_SETS "unit/convert/pb_types.bin", { "pb_types.two.Every", "pb_types.two.D1", "pb_types.two.D2",
						    "pb_types.two.Old", "pb_types.three.Every" });
	return failures ? 1 : 0;
}
