/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of iox_fast.c that replace iceoryx's, under their linker names. Only for iox_fast.c and tests/abi. */
#ifndef IOX_FAST_H
#define IOX_FAST_H

#define IOX_REQUIRE        "_ZN3iox3cxx8internal7RequireEbPKciS3_S3_"
#define IOX_REGISTER       "_ZN3iox2rp19BaseRelativePointer11registerPtrEmPvm"
#define IOX_UNREGISTER     "_ZN3iox2rp19BaseRelativePointer13unregisterPtrEm"
#define IOX_UNREGISTER_ALL "_ZN3iox2rp19BaseRelativePointer13unregisterAllEv"
#define IOX_BASE           "_ZN3iox2rp19BaseRelativePointer10getBasePtrEm"
#define IOX_PTR            "_ZN3iox2rp19BaseRelativePointer6getPtrEmm"
#define IOX_RAW            "_ZNK3iox2rp19BaseRelativePointer13computeRawPtrEv"
#define IOX_SEARCH         "_ZN3iox2rp19BaseRelativePointer8searchIdEPv"
#define IOX_CHUNK          "_ZN3iox5mepoo11ChunkHeaderC1EjRKNS0_13ChunkSettingsE"
#define IOX_SHARED         "_ZNK3iox5mepoo11SharedChunk14getChunkHeaderEv"
#define IOX_PACKED         "_ZN3iox5mepoo21ShmSafeUnmanagedChunk14getChunkHeaderEv"
#define IOX_LOCK           "_ZN3iox5posix5mutex4lockEv"
#define IOX_UNLOCK         "_ZN3iox5posix5mutex6unlockEv"

#define IOX_SEGMENTS 8u /* segments known to it; RouDi numbers them from 1: management, then the payload segments */

#endif
