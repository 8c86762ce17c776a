/* SPDX-License-Identifier: Apache-2.0 */
/* See pings.h. Threads: the pinging one, and Cyclone's. */
#include "pings.h"

#include <string.h>

#include "futex.h"
#include "system/ros2/reader.h"

static double sample[PINGS_MAX];

int pings_await(_Atomic uint32_t *word, uint32_t n, int64_t dur_ns)
{
	int64_t end_mono_ns = mono_now_ns() + dur_ns;
	uint32_t now;

	while ((now = atomic_load(word)) != n) {
		if (mono_now_ns() > end_mono_ns)
			return -ETIMEDOUT;
		futex_wait(word, now, 10 * NS_PER_MS, FUTEX_BETWEEN_PROCESSES);
	}
	return 0;
}

void pings_tell(_Atomic uint32_t *word, uint32_t n)
{
	atomic_store(word, n);
	futex_wake_all(word, FUTEX_BETWEEN_PROCESSES);
}

int pings_run(int (*write)(uint32_t n), _Atomic uint32_t *back, uint32_t *n, unsigned count, double *ret_ns)
{
	int r = 0;

	for (unsigned i = 0; i < count && r == 0; i++) {
		int64_t start_mono_ns = mono_now_ns();

		r = write(++*n);
		r = r < 0 ? r : pings_await(back, *n, 10 * NS_PER_S);
		sample[i] = (double)(mono_now_ns() - start_mono_ns);
	}
	if (r == 0)
		*ret_ns = bench_median(sample, count);
	return r;
}

int pings_meet(int (*write)(uint32_t n), _Atomic uint32_t *back, uint32_t *n)
{
	for (unsigned i = 0; i < 2000; i++)
		if (write(++*n) == 0 && pings_await(back, *n, 10 * NS_PER_MS) == 0)
			return 0;
	return -ETIMEDOUT;
}

/* ---- plain programs ---- */

static struct plain {
	bool far;
	dds_entity_t writer;
	struct seen_ultrasonic out;
	_Atomic uint32_t *back;
	_Atomic uint32_t last; /* of the pings that the listener sends itself; 0: none */
	unsigned taken;
	int64_t start_mono_ns;
} plain;

int pings_plain_write(uint32_t n)
{
	plain.out.stamp.nanosec = n;
	return dds_write(plain.writer, &plain.out) < 0 ? -EIO : 0;
}

static void on_pong(uint32_t n)
{
	uint32_t last = atomic_load(&plain.last);

	if (last) {
		int64_t now = mono_now_ns();

		sample[plain.taken++] = (double)(now - plain.start_mono_ns);
		plain.start_mono_ns = now;
		if (n != last && pings_plain_write(n + 1) == 0)
			return;
	}
	pings_tell(plain.back, n);
}

static void on_plain(dds_entity_t reader, void *arg)
{
	struct seen_ultrasonic m = { 0 };
	void *taken = &m;
	dds_sample_info_t info;

	(void)arg;
	while (dds_take(reader, &taken, &info, 1, 1) > 0) {
		if (!info.valid_data)
			continue;
		if (plain.far)
			(void)pings_plain_write(m.stamp.nanosec);
		else
			on_pong(m.stamp.nanosec);
	}
}

int pings_plain_open(dds_entity_t participant, bool far, _Atomic uint32_t *back)
{
	dds_listener_t *l = dds_create_listener(NULL);
	dds_qos_t *q = dds_create_qos();
	dds_entity_t in, out, reader;

	plain.far = far;
	plain.back = back;
	plain.out.frame_id = strdup("frame of this and that, so that all are 64 bytes");
	dds_lset_data_available(l, on_plain);
	dds_qset_reliability(q, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
	dds_qset_history(q, DDS_HISTORY_KEEP_LAST, 16);
	in = dds_create_topic(participant, &seen_ultrasonic_desc, far ? "ping" : "pong", NULL, NULL);
	out = dds_create_topic(participant, &seen_ultrasonic_desc, far ? "pong" : "ping", NULL, NULL);
	plain.writer = dds_create_writer(participant, out, q, NULL);
	reader = dds_create_reader(participant, in, q, l);
	dds_delete_qos(q);
	dds_delete_listener(l);
	return plain.writer < 0 || reader < 0 ? -EIO : 0;
}

int pings_plain_run(_Atomic uint32_t *back, uint32_t *n, unsigned count, double *ret_ns)
{
	uint32_t last = *n + count;
	int r;

	plain.taken = 0;
	plain.start_mono_ns = mono_now_ns();
	atomic_store(&plain.last, last);
	r = pings_plain_write(*n + 1);
	r = r < 0 ? r : pings_await(back, last, 60 * NS_PER_S);
	atomic_store(&plain.last, 0);
	*n = last;
	if (r == 0 && plain.taken != count)
		r = -EIO;
	if (r == 0)
		*ret_ns = bench_median(sample, count);
	return r;
}
