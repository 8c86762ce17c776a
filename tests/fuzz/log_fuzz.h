/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the harnesses of logs: the bytes are a file in memory, which is opened and read to its end: sorted, in file
 * order, and without its index. Reading always ends, and every message can be read under the sanitizers.
 */
#ifndef LOG_FUZZ_H
#define LOG_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/record/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOG_FUZZ_CALLS 100000u

static inline void log_fuzz_read(const char *path, const struct log_read_options *o)
{
	struct log_reader *r;
	struct log_message m;
	unsigned calls = 0, sum = 0;
	char why[300];
	int k;

	if (log_reader_open(path, o, &r, why, sizeof(why)) < 0) {
		if (!*why)
			abort();
		return;
	}
	while ((k = log_reader_next(r, &m))) {
		if (++calls > LOG_FUZZ_CALLS || (k < 0 && !*log_reader_why(r)))
			abort();
		if (k > 0 && m.channel >= log_reader_info(r)->n_channels)
			abort();
		for (size_t i = 0; k > 0 && i < m.size; i++)
			sum += ((const uint8_t *)m.data)[i];
	}
	if (!o->file_order && (log_reader_seek(r, (int64_t)sum) < 0 || log_reader_next(r, &m) > 1))
		abort();
	log_reader_close(r);
}

static inline int log_fuzz(const uint8_t *data, size_t size)
{
	const struct log_read_options how[] = { { .max_bytes = 1 << 20 },
						{ .max_bytes = 1 << 20, .file_order = true },
						{ .max_bytes = 1 << 20, .scan = true } };
	int fd = memfd_create("log", MFD_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0 && write(fd, data, size) == (ssize_t)size)
		for (unsigned i = 0; i < sizeof(how) / sizeof(how[0]); i++)
			log_fuzz_read(path, &how[i]);
	close(fd);
	return 0;
}

#endif
