// SPDX-License-Identifier: Apache-2.0
// The offsets by which simd reads iceoryx's memory, against the headers of the iceoryx that is installed here. Compiled without
// access control: all of this is private there. That it compiles is the test; run, it says so.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "iceoryx_posh/internal/mepoo/chunk_management.hpp"
#include "iceoryx_posh/internal/mepoo/mem_pool.hpp"
#include "iceoryx_posh/internal/mepoo/memory_manager.hpp"
#include "iceoryx_posh/internal/popo/ports/publisher_port_data.hpp"
#include "iceoryx_posh/internal/popo/ports/subscriber_port_data.hpp"
#include "iceoryx_posh/internal/popo/ports/subscriber_port_user.hpp"
#include "iceoryx_posh/mepoo/chunk_header.hpp"

#include "iox_queue.h"
#include "ipc_iox_layout.h"

using Port = iox::popo::PublisherPortData;
using SubPort = iox::popo::SubscriberPortData;
using Service = iox::capro::ServiceDescription;
using String = iox::cxx::string<100>;
using Sender = Port::ChunkSenderData_t;
using Manager = iox::mepoo::MemoryManager;
using Pools = decltype(Manager::m_memPoolVector);
using Pool = iox::mepoo::MemPool;
using List = iox::concurrent::LoFFLi;
using Entry = iox::mepoo::ChunkManagement;
using Header = iox::mepoo::ChunkHeader;
using Pointer = iox::rp::RelativePointer<Entry>;

#define HOLDS(what, is) static_assert((what) == (is), "iceoryx is laid out otherwise: " #is)

HOLDS(IOX_PORT_SIZE, sizeof(Port));
HOLDS(IOX_PORT_ID, offsetof(Port, m_uniqueId));
HOLDS(8, sizeof(Port::m_uniqueId));
HOLDS(IOX_SUB_SIZE, sizeof(SubPort));
HOLDS(IOX_PORT_CHANNEL,
      offsetof(Port, m_serviceDescription) + offsetof(Service, m_instanceString) + offsetof(String, m_rawstring));
HOLDS(IOX_PORT_CHANNEL,
      offsetof(SubPort, m_serviceDescription) + offsetof(Service, m_instanceString) + offsetof(String, m_rawstring));
HOLDS(IOX_PORT_OWNER, offsetof(Port, m_runtimeName) + offsetof(String, m_rawstring));
HOLDS(IOX_PORT_OWNER, offsetof(SubPort, m_runtimeName) + offsetof(String, m_rawstring));
HOLDS(IOX_STRING_SIZE, sizeof(String::m_rawstring));
HOLDS(true, (std::is_same<decltype(Port::m_runtimeName), String>::value &&
	     std::is_same<decltype(Service::m_instanceString), String>::value));
HOLDS(IOX_PORT_MANAGER, offsetof(Port, m_chunkSenderData) + offsetof(Sender, m_memoryMgr));
HOLDS(IOX_PORT_LAST, offsetof(Port, m_chunkSenderData) + offsetof(Sender, m_lastChunkUnmanaged));

HOLDS(IOX_MANAGER_SIZE, sizeof(Manager));
HOLDS(IOX_MANAGER_POOLS, offsetof(Manager, m_memPoolVector) + offsetof(Pools, m_data));
HOLDS(IOX_MANAGER_N, offsetof(Manager, m_memPoolVector) + offsetof(Pools, m_size));
HOLDS(8, sizeof(Pools::m_size));
HOLDS(IOX_MANAGER_ENTRIES, offsetof(Manager, m_chunkManagementPool));
HOLDS(IOX_POOLS_MAX, iox::MAX_NUMBER_OF_MEMPOOLS);

HOLDS(IOX_POOL_SIZE, sizeof(Pool));
HOLDS(IOX_POOL_MEMORY, offsetof(Pool, m_rawMemory));
HOLDS(IOX_POOL_CHUNK, offsetof(Pool, m_chunkSize));
HOLDS(IOX_POOL_COUNT, offsetof(Pool, m_numberOfChunks));
HOLDS(IOX_POOL_USED, offsetof(Pool, m_usedChunks));
HOLDS(IOX_POOL_MINFREE, offsetof(Pool, m_minFree));
HOLDS(IOX_POOL_LIST, offsetof(Pool, m_freeIndices));

HOLDS(IOX_LIST_SIZE, offsetof(List, m_size));
HOLDS(IOX_LIST_INVALID, offsetof(List, m_invalidIndex));
HOLDS(IOX_LIST_HEAD, offsetof(List, m_head));
HOLDS(IOX_LIST_NEXT, offsetof(List, m_nextFreeIndex));
HOLDS(0, offsetof(List::Node, indexToNextFreeIndex));
HOLDS(4, offsetof(List::Node, abaCounter));
HOLDS(8, sizeof(List::Node));

HOLDS(IOX_ENTRY_SIZE, sizeof(Entry));
HOLDS(IOX_ENTRY_HEADER, offsetof(Entry, m_chunkHeader));
HOLDS(IOX_ENTRY_COUNT, offsetof(Entry, m_referenceCounter));
HOLDS(8, sizeof(Entry::m_referenceCounter));

HOLDS(IOX_HEADER_SIZE, sizeof(Header));
HOLDS(IOX_HEADER_ORIGIN, offsetof(Header, m_originId));
HOLDS(IOX_HEADER_SEQUENCE, offsetof(Header, m_sequenceNumber));
HOLDS(IOX_HEADER_USER_SIZE, offsetof(Header, m_userPayloadSize));
HOLDS(4, sizeof(Header::m_userPayloadSize));

HOLDS(IOX_POINTER_SIZE, sizeof(Pointer));
HOLDS(IOX_PACKED_SIZE, sizeof(iox::mepoo::ShmSafeUnmanagedChunk));
HOLDS(0, offsetof(iox::mepoo::ShmSafeUnmanagedChunk, m_chunkManagement));
HOLDS(0, offsetof(iox::mepoo::SharedChunk, m_chunkManagement));
HOLDS(0, offsetof(iox::posix::mutex, m_handle));

using Chunk = iox::mepoo::ShmSafeUnmanagedChunk;
using Queue = iox::concurrent::ResizeableLockFreeQueue<Chunk, iox::popo::SubscriberChunkQueueData_t::MAX_CAPACITY>;
using Evicted = iox::cxx::optional<Chunk>;
HOLDS(IOX_QUEUE_MAX, iox::popo::SubscriberChunkQueueData_t::MAX_CAPACITY);
HOLDS(8, sizeof(Chunk));
HOLDS(true, std::is_trivially_copyable<Chunk>::value);
HOLDS(sizeof(iox_index_queue), sizeof(Queue::m_freeIndices));
HOLDS(offsetof(iox_queue, free), offsetof(Queue, m_freeIndices));
HOLDS(offsetof(iox_queue, used), offsetof(Queue, m_usedIndices));
HOLDS(offsetof(iox_queue, chunk), offsetof(Queue, m_buffer));
HOLDS(offsetof(iox_queue, size), offsetof(Queue, m_size));
HOLDS(offsetof(iox_queue, capacity), offsetof(Queue, m_capacity));
HOLDS(sizeof(iox_evicted), sizeof(Evicted));
HOLDS(offsetof(iox_evicted, chunk), offsetof(Evicted, m_data));
HOLDS(offsetof(iox_evicted, has), offsetof(Evicted, m_hasValue));

using Data = iox::popo::SubscriberPortData::ChunkQueueData_t;
using Either = decltype(Data::m_queue);
HOLDS(0, offsetof(Data, m_mutex));
HOLDS(sizeof(pthread_mutex_t), sizeof(Data::m_mutex));
HOLDS(IOX_QUEUE_AT, offsetof(Data, m_queue) + offsetof(Either, m_fifo));
HOLDS(IOX_QUEUE_UNUSED, IOX_QUEUE_AT + offsetof(Queue, m_unusedIndices));
HOLDS(8 * IOX_QUEUE_MAX, offsetof(decltype(Queue::m_unusedIndices), m_size));
using Indices = decltype(Queue::m_freeIndices);
HOLDS(offsetof(iox_index_queue, read), offsetof(Indices, m_readPosition));
HOLDS(offsetof(iox_index_queue, write), offsetof(Indices, m_writePosition));
HOLDS(16, offsetof(pthread_mutex_t, __data.__kind));
HOLDS(20, offsetof(pthread_mutex_t, __data.__spins));
HOLDS(2, sizeof(pthread_mutex_t{}.__data.__spins));
HOLDS(IOX_QUEUE_WAKES, offsetof(Data, m_conditionVariableDataPtr));

using Variable = decltype(Data::m_conditionVariableDataPtr);
using Index = decltype(Data::m_conditionVariableNotificationIndex);
HOLDS(0, offsetof(Variable, m_id));
HOLDS(8, offsetof(Variable, m_offset));
HOLDS(UINT64_MAX, Variable::NULL_POINTER_OFFSET);
HOLDS(IOX_QUEUE_WAKES + 16, offsetof(Data, m_conditionVariableNotificationIndex) + offsetof(Index, m_data));
HOLDS(IOX_QUEUE_WAKES + 24, offsetof(Data, m_conditionVariableNotificationIndex) + offsetof(Index, m_hasValue));
using User = iox::popo::SubscriberPortUser;
using Receiver = decltype(User::m_chunkReceiver);
HOLDS(24, offsetof(User, m_chunkReceiver) + offsetof(Receiver, m_chunkQueueDataPtr));

int main()
{
	Pointer p(8, 1); // offset 8 of segment 1
	uint64_t w[2];

	memcpy(w, &p, sizeof(w));
	if (w[0] != 1 || w[1] != 8) {
		printf("FAIL a relative pointer is not its segment, then its offset\n");
		return 1;
	}
	iox::rp::RelativePointerData packed(1, 8);
	memcpy(w, &packed, sizeof(w[0]));
	if (w[0] != (8u << 16 | 1u)) {
		printf("FAIL a packed pointer is not its segment in the low 16 bits, then its offset\n");
		return 1;
	}
	printf("ok   iceoryx is laid out as simd reads it\n");
	return 0;
}
