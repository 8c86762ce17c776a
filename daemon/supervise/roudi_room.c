/* SPDX-License-Identifier: Apache-2.0 */
/* See roudi_room.h. Thread: simd-main. */
#include "roudi_room.h"

#include "err.h"
#include "log.h"
#include "roudi_files.h"
#include "timeutil.h"

#include <errno.h>

LOG_TOPIC("roudi");

static void say_full(bool files, int64_t need, int64_t have)
{
	if (!files)
		log_error("no new generation of the data plane yet: /dev/shm has no room for %d files more (its "
			  "inodes are "
			  "used up); "
			  "remove some there, or remount it with a larger nr_inodes",
			  ROUDI_FILES);
	else
		log_error("no new generation of the data plane yet: it needs %lld MiB of /dev/shm, %lld MiB are free; "
			  "the memory of the last generation is freed first; if that is not enough, make room there",
			  (long long)(need >> 20), (long long)(have >> 20));
}

bool roudi_room_look(struct roudi_room *w, int64_t now_mono_ns, int64_t need)
{
	int64_t have = roudi_shm_free();
	bool files = roudi_shm_has_files(), yes = files && (have < 0 || have >= need);

	if (!yes && !w->waits) {
		say_full(files, need, have);
		w->full_mono_ns = now_mono_ns;
	}
	w->waits = !yes;
	return yes;
}

bool roudi_room_over(const struct roudi_room *w, int64_t now_mono_ns, int64_t need, int64_t bound_dur_ns)
{
	int64_t dur_ns = now_mono_ns - w->full_mono_ns;

	if (dur_ns < bound_dur_ns)
		return false;
	(void)err_set(
		-ENOSPC,
		"/dev/shm has had no room for %lld s: the data plane needs %lld MiB and %d files, %lld MiB are free; make "
		"room there, or enlarge it (mount -o remount,size=... /dev/shm; docker run --shm-size=...)",
		(long long)(dur_ns / NS_PER_S), (long long)(need >> 20), ROUDI_FILES,
		(long long)(roudi_shm_free() >> 20));
	return true;
}
