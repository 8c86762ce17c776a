// SPDX-License-Identifier: Apache-2.0
// iox_fast.c: that iceoryx finds these functions instead of its own, and that both do the same.
#include <csignal>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "iceoryx_hoofs/cxx/requires.hpp"
#include "iceoryx_hoofs/internal/posix_wrapper/mutex.hpp"
#include "iceoryx_posh/internal/mepoo/chunk_management.hpp"
#include "iceoryx_posh/internal/mepoo/mem_pool.hpp"
#include "iceoryx_posh/internal/mepoo/shared_chunk.hpp"
#include "iceoryx_posh/internal/mepoo/shm_safe_unmanaged_chunk.hpp"
#include "iceoryx_posh/mepoo/chunk_header.hpp"

#include "iox_fast.h"
#include "ipc_iox_layout.h"

using iox::rp::BaseRelativePointer;

#define CHECK(holds) \
	do { \
		if (!(holds)) { \
			printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, #holds); \
			exit(1); \
		} \
	} while (0)

constexpr size_t SIZE = 1 << 16;
constexpr uint64_t IDS[] = { 1, 2, IOX_SEGMENTS - 1, IOX_SEGMENTS, 40 };
alignas(64) static char memory[sizeof(IDS) / sizeof(*IDS)][SIZE];

template <typename Fn> static Fn theirs(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	CHECK(fn);
	return reinterpret_cast<Fn>(fn);
}

static void stands_before_its_own()
{
	static const char *const names[] = { IOX_REQUIRE, IOX_REGISTER, IOX_UNREGISTER, IOX_UNREGISTER_ALL, IOX_BASE,
					     IOX_PTR,     IOX_RAW,      IOX_SEARCH,     IOX_CHUNK,          IOX_SHARED,
					     IOX_PACKED,  IOX_LOCK,     IOX_UNLOCK };

	for (const char *name : names) {
		void *found = dlsym(RTLD_DEFAULT, name);
		Dl_info program, where;

		CHECK(dladdr(reinterpret_cast<void *>(&memory), &program) && dladdr(found, &where));
		CHECK(where.dli_fbase == program.dli_fbase);
		CHECK(dladdr(theirs<void *>(name), &where) && strstr(where.dli_fname, "libiceoryx_"));
	}
}

static void same_pointers()
{
	const auto base = theirs<char *(*)(uint64_t)>(IOX_BASE);
	const auto ptr = theirs<char *(*)(uint64_t, uint64_t)>(IOX_PTR);
	const auto raw = theirs<char *(*)(const void *)>(IOX_RAW);
	const auto search = theirs<uint64_t (*)(const void *)>(IOX_SEARCH);
	const uint64_t offsets[] = { 0, 8, SIZE - 1, SIZE, 1ull << 50, UINT64_MAX };

	for (uint64_t id = 0; id < 50; id++) {
		CHECK(BaseRelativePointer::getBasePtr(id) == base(id));
		for (uint64_t offset : offsets) {
			const uint64_t words[2] = { id, offset };
			BaseRelativePointer p(offset, id);

			CHECK(memcmp(&p, words, sizeof(words)) == 0);
			CHECK(BaseRelativePointer::getPtr(id, offset) == ptr(id, offset));
			CHECK(p.computeRawPtr() == raw(words) && p.get() == raw(words));
		}
	}
	for (auto &segment : memory)
		for (char *p : { segment - 1, segment, segment + 1, segment + SIZE - 1, segment + SIZE })
			CHECK(BaseRelativePointer::searchId(p) == search(p));
	CHECK(BaseRelativePointer::searchId(nullptr) == search(nullptr));
}

static void pointers()
{
	same_pointers();
	for (size_t i = 0; i < sizeof(IDS) / sizeof(*IDS); i++) {
		CHECK(BaseRelativePointer::registerPtr(IDS[i], memory[i], SIZE));
		CHECK(!BaseRelativePointer::registerPtr(IDS[i], memory[0] + 8, SIZE)); // it is taken
		CHECK(BaseRelativePointer::getBasePtr(IDS[i]) == memory[i]);
		CHECK(BaseRelativePointer::searchId(memory[i] + 8) == IDS[i]);
		same_pointers();
	}
	CHECK(BaseRelativePointer::unregisterPtr(2) && BaseRelativePointer::getBasePtr(2) == nullptr);
	same_pointers();
	BaseRelativePointer::unregisterAll();
	CHECK(BaseRelativePointer::getBasePtr(1) == nullptr);
	same_pointers();
}

static void same_chunk(const iox::mepoo::SharedChunk &shared, iox::mepoo::ShmSafeUnmanagedChunk &packed)
{
	CHECK(shared.getChunkHeader() == theirs<void *(*)(const void *)>(IOX_SHARED)(&shared));
	CHECK(packed.getChunkHeader() == theirs<void *(*)(const void *)>(IOX_PACKED)(&packed));
}

static void chunks()
{
	using namespace iox::mepoo;
	const auto settings = ChunkSettings::create(300, 64).value();
	SharedChunk none(nullptr);
	ShmSafeUnmanagedChunk nothing;

	same_chunk(none, nothing);
	CHECK(BaseRelativePointer::registerPtr(1, memory[0], SIZE) &&
	      BaseRelativePointer::registerPtr(2, memory[1], SIZE));
	for (size_t at = 0; at < 256; at += 8) {
		alignas(64) char like[1024] = {};
		auto *header = new (memory[1] + at) ChunkHeader(900, settings);
		auto *entry =
			new (memory[0] + at) ChunkManagement(header, reinterpret_cast<MemPool *>(memory[0] + 1024),
							     reinterpret_cast<MemPool *>(memory[0] + 1024));
		SharedChunk shared(entry);

		theirs<void (*)(void *, uint32_t, const void *)>(IOX_CHUNK)(like + at % 64, 900, &settings);
		CHECK(memcmp(header, like + at % 64, IOX_HEADER_SIZE) == 0);
		CHECK(IOX_SLOT_AT(reinterpret_cast<uintptr_t>(header)) ==
		      reinterpret_cast<uintptr_t>(header->userPayload()));
		entry->m_referenceCounter.fetch_add(2); // neither of these is to free it
		ShmSafeUnmanagedChunk packed(shared);
		CHECK(shared.getChunkHeader() == header && packed.getChunkHeader() == header);
		same_chunk(shared, packed);
	}
	BaseRelativePointer::unregisterAll();
}

static void locks()
{
	iox::posix::mutex m(true);

	CHECK(m.lock() && m.lock() && m.unlock() && m.unlock());
	CHECK(!m.unlock()); // nobody has it
}

static void checks()
{
	int status;
	pid_t pid;

	iox::cxx::internal::Require(true, __FILE__, __LINE__, __func__, "");
	pid = fork();
	if (pid == 0) {
		(void)!freopen("/dev/null", "w", stderr);
		iox::cxx::internal::Require(false, __FILE__, __LINE__, __func__, "as it should");
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main()
{
	stands_before_its_own();
	pointers();
	chunks();
	locks();
	checks();
	printf("ok   iceoryx finds what is fast, and it does the same\n");
	return 0;
}
