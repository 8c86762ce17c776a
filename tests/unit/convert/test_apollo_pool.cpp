// SPDX-License-Identifier: Apache-2.0
// What is registered and what Apollo has fit into one descriptor pool of libprotobuf's, whichever comes first, as in a process of Cyber's;
// and what is registered may be registered again, as each client of a cyber_bridge does. Apollo's own are read from protoc's set.
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

extern "C" {
#include "apollo.h"
}

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using Files = std::vector<FileDescriptorProto>;

static int failures;

static void fail(const char *set, const char *what, const std::string &file)
{
	std::fprintf(stderr, "apollo %s: %s: %s\n", set, file.c_str(), what);
	failures++;
}

static void clear_json_names(google::protobuf::DescriptorProto *m)
{
	for (auto &field : *m->mutable_field())
		field.clear_json_name();
	for (auto &nested : *m->mutable_nested_type())
		clear_json_names(&nested);
}

// As a process that has them linked in has them: protoc writes names in JSON into a set, but not into code.
static Files of_the_release(const char *set, const char *path)
{
	std::ifstream in(path, std::ios::binary);
	FileDescriptorSet all;
	DescriptorPool pool;
	Files files;

	if (!all.ParseFromIstream(&in))
		fail(set, "no set of descriptors", path);
	for (FileDescriptorProto &one : *all.mutable_file()) {
		const google::protobuf::FileDescriptor *built;

		for (auto &m : *one.mutable_message_type())
			clear_json_names(&m);
		built = pool.BuildFile(one);
		files.emplace_back();
		if (built)
			built->CopyTo(&files.back());
		else
			fail(set, "protobuf does not take it", one.name());
	}
	return files;
}

static Files registered(const char *set, enum apollo_release release)
{
	const struct apollo_type *t;
	Files files;

	for (unsigned i = 0; (t = apollo_type_at(release, false, i)); i++) {
		struct iovec at[APOLLO_FILES_MAX];
		size_t n = apollo_type_files(t, at);

		for (size_t k = 0; k < n; k++) {
			files.emplace_back();
			if (!files.back().ParseFromArray(at[k].iov_base, (int)at[k].iov_len))
				fail(set, "no descriptor", apollo_type_name(t));
		}
	}
	return files;
}

static void add(const char *set, DescriptorPool &pool, const Files &files, const char *what)
{
	for (const FileDescriptorProto &file : files)
		if (!pool.BuildFile(file))
			fail(set, what, file.name());
}

static void hold(const char *set, enum apollo_release release, const char *path)
{
	const Files apollo = of_the_release(set, path), ours = registered(set, release);
	DescriptorPool simd_first, apollo_first;

	if (apollo.size() < 50 || ours.size() < 50)
		fail(set, "too few files", path);
	add(set, simd_first, ours, "a pool does not take it from simd");
	add(set, simd_first, ours, "a pool does not take it from simd a second time");
	add(set, simd_first, apollo, "a pool that has heard simd does not take it from Apollo");
	add(set, apollo_first, apollo, "a pool does not take it from Apollo");
	add(set, apollo_first, ours, "a pool that has heard Apollo does not take it from simd");
}

int main()
{
	hold("5", APOLLO_5, APOLLO_SETS "apollo5/protoc.bin");
	hold("10", APOLLO_10, APOLLO_SETS "apollo10/protoc.bin");
	return failures ? 1 : 0;
}
