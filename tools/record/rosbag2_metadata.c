/* SPDX-License-Identifier: Apache-2.0 */
/* Writes metadata.yaml for recordings that rosbag2 is to play. Thread: any. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "channels.h"
#include "convert/utf8.h"
#include "log_private.h"
#include "mem.h"
#include "rosbag2.h"

/* Escapes an ASCII character, or a byte that is not UTF-8, which YAML then has as the character of that number. */
static void quoted_byte(FILE *f, unsigned char c)
{
	if (c == '\n')
		fputs("\\n", f);
	else if (c < 0x20 || c >= 0x7f)
		fprintf(f, "\\x%02x", c);
	else if (c == '"' || c == '\\')
		fprintf(f, "\\%c", c);
	else
		putc(c, f);
}

/* False for what YAML does not allow unescaped: control characters, the byte order mark, and U+FFFE, U+FFFF. */
static bool is_printable(const char *s, size_t n)
{
	return !(n == 2 && (uint8_t)s[0] == 0xc2 && (uint8_t)s[1] < 0xa0) && memcmp(s, "\xef\xbb\xbf", n) != 0 &&
	       memcmp(s, "\xef\xbf\xbe", n) != 0 && memcmp(s, "\xef\xbf\xbf", n) != 0;
}

/* In double quotes, escaped for YAML. */
static void quoted(FILE *f, const char *s)
{
	size_t left = strlen(s);

	putc('"', f);
	while (left) {
		size_t n = utf8_char(s, left);

		if (n > 1 && is_printable(s, n)) {
			fwrite(s, 1, n, f);
		} else {
			n = 1;
			quoted_byte(f, (unsigned char)*s);
		}
		s += n;
		left -= n;
	}
	putc('"', f);
}

static void times(FILE *f, const char *indent, int64_t start_ns, int64_t end_ns)
{
	fprintf(f,
		"%sduration:\n%s  nanoseconds: %" PRId64 "\n%sstarting_time:\n%s  nanoseconds_since_epoch: %" PRId64
		"\n",
		indent, indent, end_ns - start_ns, indent, indent, start_ns);
}

static void topic(FILE *f, const struct log_channel *ch, uint64_t n)
{
	const char *qos = channel_metadata(ch, "offered_qos_profiles");

	fputs("    - topic_metadata:\n        name: ", f);
	quoted(f, ch->topic);
	fputs("\n        type: ", f);
	quoted(f, ch->schema_name);
	fputs("\n        serialization_format: ", f);
	quoted(f, ch->message_encoding);
	fputs("\n        offered_qos_profiles: ", f);
	quoted(f, qos ? qos : "");
	fprintf(f, "\n      message_count: %" PRIu64 "\n", n);
}

/* A topic with the same type in several files is one, with the sum of its messages. */
static int collect(struct channels *all, const struct log_info *info)
{
	for (size_t i = 0; i < info->n_channels; i++) {
		const struct log_channel *ch = &info->channels[i];
		char *key = mem_printf("%s %s", ch->topic, ch->schema_name);
		int64_t id = key ? channels_find(all, key, strlen(key)) : -ENOMEM;

		if (id >= 0)
			all->list[id].n_messages += ch->n_messages;
		else if (key)
			id = channels_add(all, key, strlen(key), ch);
		mem_free(key);
		if (id < 0)
			return (int)id;
	}
	return 0;
}

static void print(FILE *f, struct log_reader *const *readers, const char *const *files, unsigned n,
		  const struct channels *all)
{
	int64_t start = 0, end = 0;
	uint64_t messages = 0;

	for (unsigned i = 0; i < n; i++) {
		const struct log_info *x = log_reader_info(readers[i]);

		start = x->n_messages && (!messages || x->start_ns < start) ? x->start_ns : start;
		end = x->n_messages && (!messages || x->end_ns > end) ? x->end_ns : end;
		messages += x->n_messages;
	}
	fprintf(f, "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: %s\n",
		log_reader_info(readers[0])->format == LOG_DB3 ? "sqlite3" : "mcap");
	times(f, "  ", start, end);
	fprintf(f, "  message_count: %" PRIu64 "\n  topics_with_message_count:%s\n", messages, all->n ? "" : " []");
	for (size_t i = 0; i < all->n; i++)
		topic(f, &all->list[i], all->list[i].n_messages);
	fputs("  compression_format: \"\"\n  compression_mode: \"\"\n  relative_file_paths:\n", f);
	for (unsigned i = 0; i < n; i++) {
		fputs("    - ", f);
		quoted(f, files[i]);
		fputs("\n", f);
	}
	fputs("  files:\n", f);
	for (unsigned i = 0; i < n; i++) {
		const struct log_info *x = log_reader_info(readers[i]);

		fputs("    - path: ", f);
		quoted(f, files[i]);
		fputs("\n", f);
		times(f, "      ", x->start_ns, x->end_ns);
		fprintf(f, "      message_count: %" PRIu64 "\n", x->n_messages);
	}
}

static int write_new(const char *dir, const char *text, size_t n, char *why, size_t why_size)
{
	char *path = mem_printf("%s/metadata.yaml", dir);
	int fd, r = 0;

	if (!path)
		return log_fail(why, why_size, -ENOMEM, "no memory");
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, n) != (ssize_t)n || fdatasync(fd) < 0)
		r = errno == EEXIST
			    ? log_fail(why, why_size, -EEXIST, "%s: the file exists, and it is kept", path)
			    : log_fail(why, why_size, errno ? -errno : -ENOSPC, "%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && r < 0)
		unlink(path);
	mem_free(path);
	return r;
}

static int open_all(const char *dir, const char *const *files, unsigned n, struct log_reader **readers,
		    struct channels *all, char *why, size_t why_size)
{
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < n; i++) {
		char *path = mem_printf("%s/%s", dir, files[i]);

		r = path ? log_reader_open(path, NULL, &readers[i], why, why_size)
			 : log_fail(why, why_size, -ENOMEM, "no memory");
		mem_free(path);
		if (r >= 0 && collect(all, log_reader_info(readers[i])) < 0)
			r = log_fail(why, why_size, -ENOMEM, "no memory");
	}
	return r;
}

int rosbag2_metadata_write(const char *dir, const char *const *files, unsigned n, char *why, size_t why_size)
{
	struct log_reader **readers = mem_calloc(n + 1, sizeof(struct log_reader *));
	struct channels all = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f = NULL;
	int r;

	if (!n || !readers) {
		mem_free(readers);
		return log_fail(why, why_size, n ? -ENOMEM : -EINVAL, "%s", n ? "no memory" : "no files to describe");
	}
	r = open_all(dir, files, n, readers, &all, why, why_size);
	if (r >= 0)
		f = open_memstream(&text, &len);
	if (f) {
		print(f, readers, files, n, &all);
		r = fclose(f) ? -ENOMEM : write_new(dir, text, len, why, why_size);
	} else if (r >= 0) {
		r = log_fail(why, why_size, -ENOMEM, "no memory");
	}
	free(text);
	for (unsigned i = 0; i < n; i++)
		log_reader_close(readers[i]);
	mem_free(readers);
	channels_finish(&all);
	return r;
}
