/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a recording: their names, creation and end, full disks. The caller holds the recording's lock. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "log_private.h"
#include "mem.h"
#include "number.h"
#include "recode.h"
#include "recording_private.h"
#include "timeutil.h"

#define NUMBER_MAX  999999999u
#define TRIES       1000 /* tries at a name when other recorders create files at the same time */
#define TRY_DUR_NS  NS_PER_S
#define LOOK_DUR_NS (NS_PER_S / 4) /* between checks of the file's name */

/* ---- names ---- */

static const char *suffix_of(enum log_format f)
{
	return f == LOG_BAG ? ".bag" : f == LOG_RECORD ? ".record" : ".mcap";
}

static void name_file(struct recording *s, unsigned number)
{
	s->number = number;
	if (number > 1)
		snprintf(s->path, sizeof(s->path), "%s.%u%s", s->stem, number, suffix_of(s->o.format));
	else
		snprintf(s->path, sizeof(s->path), "%s%s", s->stem, suffix_of(s->o.format));
}

/* Number of a file, from what follows the stem in its name; 0: not a file of the stem. */
static unsigned number_of(const char *rest, const char *suffix)
{
	const char *p = rest + 1;
	uint64_t n;

	if (strcmp(rest, suffix) == 0)
		return 1;
	if (*rest != '.' || *p == '0' || number_take_u64(&p, NUMBER_DEC, NUMBER_MAX - 1, &n) < 0)
		return 0;
	return n > 1 && strcmp(p, suffix) == 0 ? (unsigned)n : 0;
}

/* The directory of the files; returns the base name of the stem. */
static const char *folder(const struct recording *s, char ret[RECORDING_STEM_MAX + 2])
{
	const char *slash = strrchr(s->stem, '/'), *base = slash ? slash + 1 : s->stem;

	snprintf(ret, RECORDING_STEM_MAX + 2, "%.*s", slash ? (int)(base - s->stem) : 1, slash ? s->stem : ".");
	return base;
}

static int highest(const struct recording *s, unsigned *ret)
{
	char dir[RECORDING_STEM_MAX + 2];
	const char *base = folder(s, dir), *suffix = suffix_of(s->o.format);
	size_t len = strlen(base);
	const struct dirent *e;
	DIR *d;

	d = opendir(dir);
	if (!d)
		return -errno;
	*ret = 0;
	while ((e = readdir(d))) {
		unsigned n = strncmp(e->d_name, base, len) == 0 ? number_of(e->d_name + len, suffix) : 0;

		if (n > *ret)
			*ret = n;
	}
	closedir(d);
	return 0;
}

/* ---- creation ---- */

static int write_about(struct recording *s)
{
	struct log_pair *pairs = mem_calloc(s->o.n_about + 2, sizeof(*pairs));
	int r;

	if (!pairs)
		return -ENOMEM;
	pairs[0] = (struct log_pair){ "version", SIM_VERSION };
	pairs[1] = (struct log_pair){ "encoding", recode_kind_name(s->o.kind) };
	for (size_t i = 0; i < s->o.n_about; i++)
		pairs[i + 2] = s->about[i];
	r = log_writer_metadata(s->w, "simd", pairs, s->o.n_about + 2);
	mem_free(pairs);
	return r == -ENOTSUP ? 0 : r;
}

/* 0: at its name; 1: deleted; 2: renamed, or cannot be checked. */
static int whereabouts(const struct recording *s)
{
	struct stat named, open;

	if (fstat(s->w->out.fd, &open) < 0)
		return 2;
	if (!open.st_nlink)
		return 1;
	return stat(s->path, &named) == 0 && named.st_ino == open.st_ino && named.st_dev == open.st_dev ? 0 : 2;
}

/* Removes a file without messages. */
static void discard(struct recording *s)
{
	bool is_ours = whereabouts(s) == 0;

	log_writer_abandon(s->w);
	s->w = NULL;
	if (is_ours)
		unlink(s->path);
}

static int failed(struct recording *s, int r)
{
	s->failures += !s->error;
	s->try_dur_ns = !s->error ? TRY_DUR_NS : 2 * s->try_dur_ns;
	if (s->try_dur_ns > RECORDING_TRY_DUR_NS)
		s->try_dur_ns = RECORDING_TRY_DUR_NS;
	s->error = r;
	s->try_mono_ns = recording_now(s) + s->try_dur_ns;
	return r;
}

static size_t chunk_bytes(const struct recording *s)
{
	return s->write.chunk_bytes ? s->write.chunk_bytes : RECORDING_CHUNK_BYTES;
}

static bool was_full(const struct recording *s)
{
	return s->error == -ENOSPC || s->error == -EDQUOT;
}

/* Checks the space before creating a file that would have none for messages. Does not see quotas. */
static bool has_room(const struct recording *s)
{
	char dir[RECORDING_STEM_MAX + 2];
	struct statvfs v;

	folder(s, dir);
	return statvfs(dir, &v) < 0 || (uint64_t)v.f_bavail * v.f_frsize >= chunk_bytes(s);
}

static int create(struct recording *s, char *why, size_t why_size)
{
	struct log_write_options w = s->write;
	unsigned n;
	int r;

	name_file(s, 1);
	r = highest(s, &n);
	if (r >= 0 && was_full(s) && !has_room(s))
		r = -ENOSPC;
	if (r < 0)
		return log_fail(why, why_size, r, "%s: %s", s->path, strerror(-r));
	r = -EEXIST;
	for (unsigned i = 1; i <= TRIES && r == -EEXIST; i++) {
		name_file(s, n + i);
		r = log_writer_create(s->path, &w, &s->w, why, why_size);
	}
	if (r < 0)
		s->w = NULL;
	return r;
}

int recording_file_open(struct recording *s, char *why, size_t why_size)
{
	int r;

	if (s->w)
		return 0;
	r = create(s, why, why_size);
	if (r < 0)
		return failed(s, r);
	r = was_full(s) ? log_out_reserve(&s->w->out, chunk_bytes(s)) : 0;
	if (r >= 0)
		r = write_about(s);
	if (r < 0) {
		discard(s);
		return failed(s, log_fail(why, why_size, r, "%s: %s", s->path, strerror(-r)));
	}
	s->serial++;
	s->files++;
	s->file_messages = 0;
	return 0;
}

/* ---- end ---- */

/* All channels of one name, which may have several types. */
struct account {
	const char *name;
	struct recording_count n;
	char *text;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct account *)a)->name, ((const struct account *)b)->name);
}

/*
 * Sums the due counts by name; sorted, so the result does not depend on the order in which channels were added. Returns
 * the number of names.
 */
static size_t add_up(const struct recording *s, struct account *list)
{
	size_t n = 0, k = 0;

	for (unsigned i = 0; i < s->n_channels; i++) {
		const struct recording_channel *c = s->channels[i];

		if (c->due.recorded || c->due.lost || c->due.repeated)
			list[n++] = (struct account){ .name = c->name, .n = c->due };
	}
	if (n)
		qsort(list, n, sizeof(*list), by_name);
	for (size_t i = 1; i < n; i++) {
		if (strcmp(list[i].name, list[k].name) != 0) {
			list[++k] = list[i];
			continue;
		}
		list[k].n.recorded += list[i].n.recorded;
		list[k].n.lost += list[i].n.lost;
		list[k].n.repeated += list[i].n.repeated;
	}
	return n ? k + 1 : 0;
}

static char *account_text(const struct recording_count *n)
{
	char repeated[40] = "";

	if (n->repeated)
		snprintf(repeated, sizeof(repeated), " repeated=%" PRIu64, n->repeated);
	return mem_printf("accepted=%" PRIu64 " recorded=%" PRIu64 " lost=%" PRIu64 "%s", n->recorded + n->lost,
			  n->recorded, n->lost, repeated);
}

static int put_accounts(struct recording *s, struct account *list, struct log_pair *pairs)
{
	size_t n = add_up(s, list);
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		list[i].text = account_text(&list[i].n);
		pairs[i] = (struct log_pair){ list[i].name, list[i].text };
		r = list[i].text ? r : -ENOMEM;
	}
	if (r == 0)
		r = log_writer_metadata(s->w, "simd_losses", pairs, n);
	for (size_t i = 0; i < n; i++)
		mem_free(list[i].text);
	return r;
}

/* If there is no room for it, the next file has it. */
static void write_losses(struct recording *s)
{
	struct log_pair *pairs = mem_calloc(s->n_channels + 1, sizeof(*pairs));
	struct account *list = mem_calloc(s->n_channels + 1, sizeof(*list));
	int r = pairs && list ? put_accounts(s, list, pairs) : -ENOMEM;

	for (unsigned i = 0; i < s->n_channels && r >= 0; i++)
		s->channels[i]->due = (struct recording_count){ 0 };
	mem_free(list);
	mem_free(pairs);
}

static int finish_file(struct recording *s, char *why, size_t why_size)
{
	int r;

	if (!s->w)
		return 0;
	if (!s->file_messages) {
		discard(s);
		s->files--;
		return 0;
	}
	write_losses(s);
	recording_left_out_write(s);
	s->closed_bytes += log_writer_bytes(s->w);
	s->copied += s->w->copied;
	r = log_writer_finish(s->w, why, why_size);
	s->w = NULL;
	return r;
}

/* ---- disappeared files ---- */

/* The file was deleted: its messages count as lost. */
static void lose_file(struct recording *s)
{
	for (unsigned i = 0; i < s->n_channels; i++) {
		struct recording_channel *c = s->channels[i];
		uint64_t n = c->number == s->serial ? c->in_file : 0;

		c->in_file = 0;
		c->all.recorded -= n;
		c->due.recorded -= n < c->due.recorded ? n : c->due.recorded;
		s->messages -= n;
		recording_count_lost(s, i, n);
	}
	s->closed_bytes += log_writer_bytes(s->w);
	log_writer_abandon(s->w);
	s->w = NULL;
}

/* Closes the open file if it has been deleted or renamed. */
static void look_at_file(struct recording *s)
{
	char why[LOG_WHY_MAX];
	int where = s->w && s->file_messages ? whereabouts(s) : 0;

	if (!where)
		return;
	s->failures++;
	recording_say(s, 0, "%s: the file has disappeared: %s; later messages go into a new file", s->path,
		      where == 1 ? "it was deleted, and its contents are lost"
				 : "renamed, or its folder is unmounted; it is finished where it is");
	if (where == 1)
		lose_file(s);
	else if (finish_file(s, why, sizeof(why)) < 0)
		recording_say(s, 0, "%s", why);
}

int recording_file_close(struct recording *s, char *why, size_t why_size)
{
	look_at_file(s);
	return finish_file(s, why, why_size);
}

/* After a write error: closes the file, which keeps what it has. */
static int give_up(struct recording *s, int r)
{
	char why[LOG_WHY_MAX];
	int e;

	if (!s->error)
		recording_say(s, 0, "%s: %s; its contents are kept, recording continues in another file when possible",
			      s->path, strerror(-r));
	e = recording_file_close(s, why, sizeof(why));
	if (e < 0)
		recording_say(s, 0, "%s", why);
	return failed(s, r);
}

int recording_file_flush(struct recording *s)
{
	int64_t now_mono_ns = recording_now(s);
	int r;

	if (now_mono_ns - s->looked_mono_ns >= LOOK_DUR_NS) {
		s->looked_mono_ns = now_mono_ns;
		look_at_file(s);
	}
	r = s->w ? log_writer_flush(s->w) : 0;
	return r < 0 ? give_up(s, r) : 0;
}

/* ---- messages ---- */

/*
 * Whether time has gone back before this message. A late message is of the file's generation or an earlier one: then
 * the time of publishing decides, not the log time. Without a generation, a difference of RECORDING_BACK_DUR_NS
 * decides.
 */
static bool went_back(const struct recording *s, const struct ring_entry *h)
{
	if (h->generation && s->generation)
		return h->generation != s->generation && (h->log_time_ns < s->last_ns || h->mono_ns < s->last_mono_ns);
	return s->last_ns - h->log_time_ns >= RECORDING_BACK_DUR_NS;
}

/* Whether a new file must begin before this message. */
static bool file_ends(const struct recording *s, const struct ring_entry *h, int64_t *log_time_ns)
{
	if (!s->w || !s->file_messages)
		return false;
	if (went_back(s, h))
		return true;
	/* from a thread that was overtaken: gets the last one's time */
	if (!h->generation && *log_time_ns < s->last_ns)
		*log_time_ns = s->last_ns;
	if (s->o.split_bytes && log_writer_bytes(s->w) >= s->o.split_bytes)
		return true;
	if (log_writer_index_bytes(s->w) >= RECORDING_INDEX_BYTES)
		return true;
	return s->o.split_dur_ns && *log_time_ns - s->first_ns >= s->o.split_dur_ns;
}

/* Opens the file for a message of that time, if needed. */
static int right_file(struct recording *s, const struct ring_entry *h, int64_t *log_time_ns)
{
	char why[LOG_WHY_MAX];
	bool first = !s->error;
	int r = 0;

	if (file_ends(s, h, log_time_ns)) {
		r = recording_file_close(s, why, sizeof(why));
		if (r < 0)
			recording_say(s, 0, "%s", why);
	}
	if (s->w)
		return 0;
	if (s->error && recording_now(s) < s->try_mono_ns)
		return s->error;
	r = recording_file_open(s, why, sizeof(why));
	if (r < 0 && first)
		recording_say(s, 0, "%s; messages are lost until a file can be written", why);
	return r;
}

static int know_channel(struct recording *s, struct recording_channel *c, bool latched)
{
	struct log_channel ch;
	int r;

	if (c->number == s->serial)
		return 0;
	if (latched)
		codec_out_set_latched(c->codec);
	ch = *codec_out_channel(c->codec);
	ch.topic = recording_topic(s, c);
	r = log_writer_add_channel(s->w, &ch, &c->log_id);
	if (r >= 0) {
		c->number = s->serial;
		c->in_file = 0;
	}
	return r;
}

static bool of_message(int r)
{
	return r == -EINVAL || r == -EMSGSIZE || r == -ERANGE || r == -ENOTSUP || r == -EFBIG;
}

/* Notes the times of a written message. */
static void note_times(struct recording *s, const struct ring_entry *h, int64_t log_time_ns)
{
	bool first = !s->file_messages++;

	if (first)
		s->first_ns = s->flushed_ns = log_time_ns;
	if (first || log_time_ns > s->last_ns)
		s->last_ns = log_time_ns;
	if (first || h->mono_ns > s->last_mono_ns)
		s->last_mono_ns = h->mono_ns;
	s->generation = h->generation;
}

int recording_file_write(struct recording *s, struct recording_channel *c, const struct ring_entry *h,
			 int64_t log_time_ns, const struct iovec *pieces, int n)
{
	struct log_message m = { .sequence = h->sequence, .log_time_ns = log_time_ns, .publish_time_ns = h->stamp_ns };
	int r = know_channel(s, c, h->latched);

	if (m.publish_time_ns < 0)
		m.publish_time_ns = log_time_ns;
	m.channel = c->log_id;
	return r < 0 ? r : log_writer_put(s->w, &m, pieces, n);
}

static int write_one(struct recording *s, struct recording_channel *c, const struct ring_entry *h, int64_t log_time_ns,
		     const struct iovec *pieces, int n)
{
	int r = s->file_messages ? 0 : recording_latched_write(s, h, log_time_ns);

	if (r >= 0 || of_message(r))
		r = recording_file_write(s, c, h, log_time_ns, pieces, n);
	if (r < 0)
		return of_message(r) ? r : give_up(s, r);
	if (s->error)
		recording_say(s, 1, "recording continues in %s", s->path);
	s->error = 0;
	note_times(s, h, log_time_ns);
	recording_latched_keep(s, h, pieces, n);
	return 0;
}

/* Flushes what is older than flush_dur_ns, before a message of that time. */
static int flush_when_due(struct recording *s, int64_t log_time_ns)
{
	if (!s->o.flush_dur_ns || !s->file_messages || log_time_ns - s->flushed_ns < s->o.flush_dur_ns)
		return 0;
	s->flushed_ns = log_time_ns;
	return recording_file_flush(s);
}

/*
 * After -EFBIG: the file has reached the size limit of the process (RLIMIT_FSIZE) or the file system. Closes it, unless
 * the message would not fit into any file: then returns false.
 */
static bool fits_another(struct recording *s, const struct iovec *pieces, int n)
{
	char why[LOG_WHY_MAX];
	uint64_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += pieces[i].iov_len;
	if (!s->file_messages && (!s->too_large || bytes < s->too_large))
		s->too_large = bytes;
	if (!s->file_messages || (s->too_large && bytes >= s->too_large))
		return false;
	if (recording_file_close(s, why, sizeof(why)) < 0)
		recording_say(s, 0, "%s", why);
	return true;
}

int recording_file_put(struct recording *s, const struct ring_entry *h, const struct iovec *pieces, int n)
{
	struct recording_channel *c = s->channels[h->id];
	int64_t log_time_ns = h->log_time_ns;
	int r = log_time_ns < 0 ? -EINVAL : right_file(s, h, &log_time_ns);

	if (r >= 0)
		r = flush_when_due(s, log_time_ns);
	if (r >= 0)
		r = write_one(s, c, h, log_time_ns, pieces, n);
	if (r == -EFBIG && fits_another(s, pieces, n)) {
		r = right_file(s, h, &log_time_ns);
		if (r >= 0)
			r = write_one(s, c, h, log_time_ns, pieces, n);
	}
	if (r < 0) {
		if (of_message(r) && !c->said)
			recording_say(s, 1, "%s at %" PRId64 " ns: not recorded: %s", c->name, h->log_time_ns,
				      strerror(-r));
		c->said |= of_message(r);
		recording_count_lost(s, h->id, 1);
		return r;
	}
	s->messages++;
	c->all.recorded++;
	c->due.recorded++;
	c->in_file++;
	for (int i = 0; i < n; i++)
		c->bytes += pieces[i].iov_len;
	return 0;
}
