/* SPDX-License-Identifier: Apache-2.0 */
/* Detects the format of a log, and calls that format's functions. Thread: as log.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats.h"
#include "log_private.h"
#include "mcap_private.h"
#include "mem.h"

static bool head_is(const struct log_opening *o, const char *bytes, size_t n)
{
	return o->n_head >= n && !memcmp(o->head, bytes, n);
}

static bool is_mcap(const struct log_opening *o)
{
	return head_is(o, "\x89MCAP", 5);
}

static const struct log_format_ops mcap = {
	.format = LOG_MCAP, .name = "MCAP", .is = is_mcap, .open = mcap_open, .create = mcap_create
};
static const struct log_format_ops record = {
	.format = LOG_RECORD, .name = "Apollo .record", .is = record_is, .open = record_open, .create = record_create
};
static const struct log_format_ops bag = {
	.format = LOG_BAG, .name = "ROS 1 .bag", .is = bag_is, .open = bag_open, .create = bag_create
};
static const struct log_format_ops db3 = { .format = LOG_DB3, .name = "rosbag2 .db3", .is = db3_is, .open = db3_open };

static const struct log_format_ops *const formats[] = {
	[LOG_MCAP] = &mcap, [LOG_RECORD] = &record, [LOG_BAG] = &bag, [LOG_DB3] = &db3
};
#define N_FORMATS (sizeof(formats) / sizeof(formats[0]))

/* ---- reading ---- */

void log_reader_init(struct log_reader *r, const struct log_reader_ops *ops, const struct log_opening *o)
{
	r->ops = ops;
	r->fd = o->fd;
	r->options = o->options;
	r->info.size = o->size;
	r->info.profile = "";
	r->info.library = "";
	r->info.compression = "none";
}

/* Opens the path and reads what is needed to detect its format. */
static int look(struct log_opening *o)
{
	struct stat st;
	ssize_t n;

	o->fd = open(o->path, O_RDONLY | O_CLOEXEC);
	if (o->fd < 0 || fstat(o->fd, &st) < 0)
		return log_fail(o->why, o->why_size, -errno, "%s: %s", o->path, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		o->directory = true;
		return 0;
	}
	if (!S_ISREG(st.st_mode))
		return log_fail(o->why, o->why_size, -EBADMSG, "%s: not a file; logs are read from files", o->path);
	o->size = (uint64_t)st.st_size;
	n = log_pread(o->fd, 0, o->head, sizeof(o->head));
	if (n < 0)
		return log_fail(o->why, o->why_size, (int)n, "%s: %s", o->path, strerror((int)-n));
	o->n_head = (size_t)n;
	return 0;
}

static int unknown(struct log_opening *o)
{
	if (o->directory)
		return log_fail(o->why, o->why_size, -EBADMSG,
				"%s: a directory without the metadata.yaml of rosbag2; name a file", o->path);
	if (!o->n_head)
		return log_fail(o->why, o->why_size, -EBADMSG, "%s: empty", o->path);
	return log_fail(
		o->why, o->why_size, -EBADMSG,
		"%s: not a log: its first bytes are not those of MCAP, Apollo's .record, ROS 1's .bag or rosbag2's .db3",
		o->path);
}

static int open_format(struct log_opening *o, struct log_reader **ret)
{
	for (size_t i = 0; i < N_FORMATS; i++) {
		if (!formats[i]->is || !formats[i]->is(o))
			continue;
		if (!formats[i]->open)
			return log_fail(o->why, o->why_size, -ENOTSUP, "%s: a file of %s, which is not read", o->path,
					formats[i]->name);
		return formats[i]->open(o, ret);
	}
	return unknown(o);
}

int log_reader_open(const char *path, const struct log_read_options *options, struct log_reader **ret, char *why,
		    size_t why_size)
{
	struct log_opening o = { .path = path, .fd = -1, .why = why, .why_size = why_size };
	int r;

	if (options)
		o.options = *options;
	if (!o.options.max_bytes)
		o.options.max_bytes = LOG_BYTES_MAX;
	log_fail(why, why_size, 0, "%s", "");
	r = look(&o);
	if (r >= 0)
		r = open_format(&o, ret);
	if (r < 0 && o.fd >= 0)
		close(o.fd);
	return r;
}

void log_reader_close(struct log_reader *r)
{
	int fd;

	if (!r)
		return;
	fd = r->fd;
	r->ops->close(r);
	close(fd);
}

const struct log_info *log_reader_info(const struct log_reader *r)
{
	return &r->info;
}

int log_reader_select(struct log_reader *r, const bool *want, size_t n)
{
	return r->ops->select(r, want, n);
}

int log_reader_seek(struct log_reader *r, int64_t log_time_ns)
{
	return r->ops->seek(r, log_time_ns);
}

int log_reader_next(struct log_reader *r, struct log_message *ret)
{
	return r->ops->next(r, ret);
}

const char *log_reader_why(const struct log_reader *r)
{
	return r->why;
}

static int attachment(struct log_reader *r, uint32_t i, bool data, struct log_attachment *ret)
{
	if (i >= r->info.n_attachments || !r->ops->attachment)
		return log_fail(r->why, sizeof(r->why), -EINVAL, "there is no attachment %u; the file has %u", i,
				r->info.n_attachments);
	return r->ops->attachment(r, i, data, ret);
}

int log_reader_attachment(struct log_reader *r, uint32_t i, struct log_attachment *ret)
{
	return attachment(r, i, true, ret);
}

int log_reader_attachment_head(struct log_reader *r, uint32_t i, struct log_attachment *ret)
{
	return attachment(r, i, false, ret);
}

/* ---- writing ---- */

static int create_file(const char *path, struct log_out *out, char *why, size_t why_size)
{
	out->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (out->fd >= 0)
		return 0;
	if (errno == EEXIST)
		return log_fail(why, why_size, -EEXIST, "%s: the file exists, and it is kept; give another name", path);
	return log_fail(why, why_size, -errno, "%s: %s", path, strerror(errno));
}

int log_writer_create(const char *path, const struct log_write_options *o, struct log_writer **ret, char *why,
		      size_t why_size)
{
	const struct log_format_ops *f = (size_t)o->format < N_FORMATS ? formats[o->format] : NULL;
	struct log_out out = { .fd = -1 };
	struct log_writer *w;
	char *name;
	int r;

	log_fail(why, why_size, 0, "%s", "");
	if (!f || !f->create)
		return log_fail(why, why_size, -ENOTSUP, "%s: files of %s cannot be written", path,
				f ? f->name : "that format");
	name = mem_strdup(path);
	if (!name)
		return log_fail(why, why_size, -ENOMEM, "%s: no memory", path);
	r = create_file(path, &out, why, why_size);
	if (r < 0)
		goto err_name;
	r = f->create(&out, o, &w, why, why_size);
	if (r < 0)
		goto err_file;
	w->path = name;
	*ret = w;
	return 0;
err_file:
	close(out.fd);
	unlink(path);
err_name:
	mem_free(name);
	return r;
}

int log_writer_add_channel(struct log_writer *w, const struct log_channel *ch, uint32_t *ret_id)
{
	return w->ops->add_channel(w, ch, ret_id);
}

int log_writer_put(struct log_writer *w, const struct log_message *m, const struct iovec *pieces, int n)
{
	return w->ops->put(w, m, pieces, n);
}

int log_writer_metadata(struct log_writer *w, const char *name, const struct log_pair *pairs, size_t n)
{
	return w->ops->metadata ? w->ops->metadata(w, name, pairs, n) : -ENOTSUP;
}

int log_writer_attachment(struct log_writer *w, const struct log_attachment *a)
{
	return w->ops->attachment ? w->ops->attachment(w, a) : -ENOTSUP;
}

int log_writer_flush(struct log_writer *w)
{
	return w->ops->flush(w);
}

uint64_t log_writer_bytes(const struct log_writer *w)
{
	return w->out.size;
}

uint64_t log_writer_index_bytes(const struct log_writer *w)
{
	return w->index_bytes;
}

void log_writer_abandon(struct log_writer *w)
{
	int fd;
	char *path;

	if (!w)
		return;
	fd = w->out.fd;
	path = w->path;
	w->ops->destroy(w);
	close(fd);
	mem_free(path);
}

int log_writer_finish(struct log_writer *w, char *why, size_t why_size)
{
	int r, s;

	log_fail(why, why_size, 0, "%s", "");
	r = w->ops->finish(w, why, why_size);
	s = log_out_sync(&w->out);
	if (s < 0 && r >= 0)
		r = log_fail(why, why_size, s, "%s: to the disk: %s", w->path, strerror(-s));
	log_writer_abandon(w);
	return r;
}
