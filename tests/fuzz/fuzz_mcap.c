/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an MCAP file: opened and read in each way; the messages read are counted and within bounds. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/log.h"
#include "record/mcap_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned read_all(struct log_reader *r)
{
	struct log_attachment a;
	struct log_message m;
	unsigned sum = 0;

	for (int i = 0; i < 100000; i++) {
		int err = log_reader_next(r, &m);

		if (!err)
			break;
		if (err < 0) {
			if (!*log_reader_why(r))
				abort();
			continue;
		}
		if (m.channel >= log_reader_info(r)->n_channels)
			abort();
		sum += mcap_crc(0, m.data, m.size) + (unsigned)strlen(log_reader_info(r)->channels[m.channel].topic);
	}
	for (uint32_t i = 0; i < log_reader_info(r)->n_attachments && i < 4; i++)
		if (!log_reader_attachment(r, i, &a))
			sum += mcap_crc(0, a.data, a.size) + (unsigned)strlen(a.media_type);
	for (uint32_t i = 0; i < log_reader_info(r)->n_attachments && i < 4; i++)
		if (!log_reader_attachment_head(r, i, &a))
			sum += (unsigned)strlen(a.name) + (unsigned)strlen(a.media_type);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned sum = 0;
	char path[64], why[512] = "";
	int fd = memfd_create("mcap", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (int mode = 0; mode < 4; mode++) {
		const struct log_read_options o = {
			.scan = mode & 1, .file_order = mode & 2, .no_crc = true, .max_bytes = 1 << 20
		};
		struct log_reader *r;

		if (log_reader_open(path, &o, &r, why, sizeof(why)) < 0) {
			if (!*why)
				abort();
			continue;
		}
		mcap_reader_set_budget(r, 1000);
		sum += read_all(r);
		if (!log_reader_seek(r, 2))
			sum += read_all(r);
		log_reader_close(r);
	}
	close(fd);
	__asm__ volatile("" : : "r"(sum)); /* used, so that reading all is not left out */
	return 0;
}
