/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of rosbag2: its files, in MCAP or .db3, as one log. Thread: as log.h. */
#include "rosbag2.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "channels.h"
#include "db3_private.h"
#include "fd.h"
#include "formats.h"
#include "mem.h"
#include "merge.h"
#include "rosbag2_yaml.h"

struct part {
	struct log_reader *reader;
	uint32_t *map; /* from the part's channels to d->channels */
	size_t n_map;
};

struct rosbag2 {
	struct log_reader r;
	struct rosbag2_yaml yaml;
	struct part parts[ROSBAG2_FILES_MAX];
	size_t n_parts;
	struct merge *merge;
	struct channels channels;
	struct log_metadata *metadata; /* of all parts; points into their readers */
};

_Static_assert(ROSBAG2_FILES_MAX <= MERGE_INPUTS_MAX, "all files are merged");

/* ---- channels ---- */

/* A topic with the same type in several files is one channel. */
static int64_t channel_of(struct rosbag2 *d, const struct log_channel *ch)
{
	char *key = mem_printf("%s %s %s", ch->topic, ch->schema_name, ch->message_encoding);
	int64_t id = key ? channels_find(&d->channels, key, strlen(key)) : -ENOMEM;

	if (id >= 0)
		d->channels.list[id].n_messages += ch->n_messages;
	else if (key)
		id = channels_add(&d->channels, key, strlen(key), ch);
	mem_free(key);
	return id;
}

static int map_channels(struct rosbag2 *d, struct part *p)
{
	const struct log_info *info = log_reader_info(p->reader);
	uint32_t *map;

	if (info->n_channels <= p->n_map)
		return 0;
	map = mem_realloc(p->map, info->n_channels * sizeof(*map));
	if (!map)
		return -ENOMEM;
	p->map = map;
	for (; p->n_map < info->n_channels; p->n_map++) {
		int64_t id = channel_of(d, &info->channels[p->n_map]);

		if (id < 0)
			return (int)id;
		map[p->n_map] = (uint32_t)id;
	}
	d->r.info.channels = d->channels.list;
	d->r.info.n_channels = d->channels.n;
	return 0;
}

/* ---- metadata and attachments ---- */

/* Concatenates those of the parts. A part without index finds more while it is read. 0 or -ENOMEM. */
static int gather_extras(struct rosbag2 *d)
{
	struct log_info *info = &d->r.info;
	struct log_metadata *all;
	size_t n = 0;

	info->n_attachments = 0;
	for (size_t i = 0; i < d->n_parts; i++) {
		n += log_reader_info(d->parts[i].reader)->n_metadata;
		info->n_attachments += log_reader_info(d->parts[i].reader)->n_attachments;
	}
	if (n == info->n_metadata)
		return 0;
	all = mem_realloc(d->metadata, n * sizeof(*all));
	if (!all)
		return -ENOMEM;
	info->metadata = d->metadata = all;
	info->n_metadata = n;
	for (size_t i = 0; i < d->n_parts; i++) {
		const struct log_info *part = log_reader_info(d->parts[i].reader);

		for (size_t k = 0; k < part->n_metadata; k++)
			*all++ = part->metadata[k];
	}
	return 0;
}

static int rosbag2_attachment(struct log_reader *r, uint32_t i, bool data, struct log_attachment *ret)
{
	struct rosbag2 *d = (struct rosbag2 *)r;

	for (size_t k = 0; k < d->n_parts; k++) {
		struct log_reader *part = d->parts[k].reader;
		uint32_t n = log_reader_info(part)->n_attachments;
		int e;

		if (i >= n) {
			i -= n;
			continue;
		}
		e = data ? log_reader_attachment(part, i, ret) : log_reader_attachment_head(part, i, ret);
		return e < 0 ? log_fail(r->why, sizeof(r->why), e, "%s: %s", d->yaml.files[k], log_reader_why(part))
			     : 0;
	}
	return log_fail(r->why, sizeof(r->why), -EINVAL, "there is no such attachment");
}

/* ---- reading ---- */

static int rosbag2_next(struct log_reader *r, struct log_message *ret)
{
	struct rosbag2 *d = (struct rosbag2 *)r;
	unsigned i = 0;
	int k = merge_next(d->merge, ret, &i), e;

	if (!k)
		return gather_extras(d) < 0 ? log_fail(r->why, sizeof(r->why), -ENOMEM, "no memory") : 0;
	if (k < 0)
		return log_fail(r->why, sizeof(r->why), k, "%s: %s", d->yaml.files[i], merge_why(d->merge, i));
	e = map_channels(d, &d->parts[i]);
	if (e < 0)
		return log_fail(r->why, sizeof(r->why), e, "no memory for channels");
	ret->channel = d->parts[i].map[ret->channel];
	return 1;
}

static int rosbag2_seek(struct log_reader *r, int64_t log_time_ns)
{
	struct rosbag2 *d = (struct rosbag2 *)r;

	if (r->options.file_order)
		return log_fail(r->why, sizeof(r->why), -ENOTSUP, "a log that is read in file order cannot seek");
	return merge_seek(d->merge, log_time_ns);
}

static int select_part(struct part *p, const bool *want, size_t n)
{
	bool *of_part = want ? mem_calloc(p->n_map + 1, sizeof(*of_part)) : NULL;
	int r;

	if (want && !of_part)
		return -ENOMEM;
	for (size_t i = 0; want && i < p->n_map; i++)
		of_part[i] = p->map[i] >= n || want[p->map[i]];
	r = log_reader_select(p->reader, of_part, want ? p->n_map : 0);
	mem_free(of_part);
	return r;
}

static int rosbag2_select(struct log_reader *r, const bool *want, size_t n)
{
	struct rosbag2 *d = (struct rosbag2 *)r;
	int e = 0;

	for (size_t i = 0; e >= 0 && i < d->n_parts; i++)
		e = select_part(&d->parts[i], want, n);
	return e < 0 ? log_fail(r->why, sizeof(r->why), e, "no memory") : 0;
}

static void rosbag2_close(struct log_reader *r)
{
	struct rosbag2 *d = (struct rosbag2 *)r;

	merge_destroy(d->merge);
	for (size_t i = 0; i < d->n_parts; i++) {
		log_reader_close(d->parts[i].reader);
		mem_free(d->parts[i].map);
	}
	channels_finish(&d->channels);
	mem_free(d->metadata);
	mem_free(d);
}

static const struct log_reader_ops ops = { .close = rosbag2_close,
					   .select = rosbag2_select,
					   .seek = rosbag2_seek,
					   .next = rosbag2_next,
					   .attachment = rosbag2_attachment };

/* ---- open ---- */

static int yaml_read(const struct log_opening *o, struct rosbag2_yaml *y)
{
	char *path = mem_printf("%s/metadata.yaml", o->path), *text = NULL, why[LOG_WHY_MAX] = "";
	size_t n;
	int r = path ? fd_read_file(path, ROSBAG2_YAML_MAX, &text, &n) : -ENOMEM;

	if (r >= 0)
		r = rosbag2_yaml_parse(text, n, y, why, sizeof(why));
	if (r < 0)
		log_fail(o->why, o->why_size, r, "%s/metadata.yaml: %s", o->path, *why ? why : strerror(-r));
	mem_free(text);
	mem_free(path);
	if (r >= 0 && !strcasecmp(y->compression_mode, "file"))
		r = log_fail(
			o->why, o->why_size, -ENOTSUP,
			"%s: its files are compressed as a whole, which is not read: unpack them (`zstd -d`), and take .%s and the "
			"compression out of metadata.yaml",
			o->path, y->compression);
	return r;
}

static void add_info(struct log_info *to, const struct log_info *i, bool first)
{
	to->complete = (first || to->complete) && i->complete;
	to->indexed = (first || to->indexed) && i->indexed;
	to->counted = (first || to->counted) && i->counted;
	to->size += i->size;
	to->n_chunks += i->n_chunks;
	if (i->n_messages && (!to->n_messages || i->start_ns < to->start_ns))
		to->start_ns = i->start_ns;
	if (i->n_messages && (!to->n_messages || i->end_ns > to->end_ns))
		to->end_ns = i->end_ns;
	to->n_messages += i->n_messages;
	if (first) {
		to->format = i->format;
		to->profile = i->profile;
		to->library = i->library;
		to->compression = i->compression;
	}
}

static int part_open(struct rosbag2 *d, const struct log_opening *o, const char *file)
{
	struct part *p = &d->parts[d->n_parts];
	char *path = mem_printf("%s/%s", o->path, file);
	struct stat st;
	int r = -ENOMEM;

	if (path && !stat(path, &st) && S_ISDIR(st.st_mode)) /* a directory could contain this one again */
		r = log_fail(o->why, o->why_size, -EBADMSG, "%s: a directory, but metadata.yaml names it as a file",
			     path);
	else if (path)
		r = log_reader_open(path, &o->options, &p->reader, o->why, o->why_size);
	mem_free(path);
	if (r < 0)
		return r;
	d->n_parts++;
	add_info(&d->r.info, log_reader_info(p->reader), d->n_parts == 1);
	r = map_channels(d, p);
	return r < 0 ? r : merge_add(d->merge, &merge_reader_ops, p->reader);
}

static bool is_directory(const struct log_opening *o)
{
	return o->directory && !faccessat(o->fd, "metadata.yaml", R_OK, 0);
}

static int open_directory(struct log_opening *o, struct log_reader **ret)
{
	struct rosbag2 *d = MEM_NEW(struct rosbag2);
	int r;

	if (!d)
		return log_fail(o->why, o->why_size, -ENOMEM, "%s: no memory", o->path);
	log_reader_init(&d->r, &ops, o);
	d->r.info.size = 0;
	r = yaml_read(o, &d->yaml);
	if (r >= 0)
		r = merge_create(&d->merge);
	for (size_t i = 0; r >= 0 && i < d->yaml.n_files; i++)
		r = part_open(d, o, d->yaml.files[i]);
	if (r >= 0)
		r = gather_extras(d);
	if (r < 0) {
		if (r == -ENOMEM)
			log_fail(o->why, o->why_size, r, "%s: no memory", o->path);
		rosbag2_close(&d->r);
		return r;
	}
	*ret = &d->r;
	return 0;
}

bool db3_is(const struct log_opening *o)
{
	return o->directory ? is_directory(o) : db3_is_file(o);
}

int db3_open(struct log_opening *o, struct log_reader **ret)
{
	return o->directory ? open_directory(o, ret) : db3_open_file(o, ret);
}
