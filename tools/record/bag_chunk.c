/* SPDX-License-Identifier: Apache-2.0 */
/* Records, connections and chunks of a .bag. Thread: as log.h. */
#include <errno.h>
#include <inttypes.h>

#include "bag_private.h"
#include "mem.h"

#define PAIRS_MAX 16u /* limit of a connection's fields that are kept */

int bag_fail(struct bag *b, int r, uint64_t at, const char *what)
{
	return log_fail(b->c.r.why, sizeof(b->c.r.why), r, "offset %" PRIu64 ": %s", at, what);
}

int bag_read(struct bag *b, uint64_t at, void *buf, size_t n)
{
	ssize_t k = log_pread(b->c.r.fd, at, buf, n);

	if (k < 0)
		return bag_fail(b, (int)k, at, strerror((int)-k));
	return (size_t)k < n ? bag_fail(b, -EBADMSG, at, "the file ends here, in the middle of a record") : 0;
}

static int bytes_room(struct bag_bytes *to, size_t n)
{
	uint8_t *data;

	if (n <= to->room)
		return 0;
	data = mem_realloc(to->data, n);
	if (!data)
		return -ENOMEM;
	to->data = data;
	to->room = n;
	return 0;
}

/* ---- records ---- */

int bag_record_read(struct bag *b, uint64_t at, struct bag_record *ret)
{
	size_t len, n = bag_left(b, at) < BAG_WINDOW ? (size_t)bag_left(b, at) : BAG_WINDOW;
	int r = bytes_room(&b->head, BAG_WINDOW);

	if (r < 0)
		return bag_fail(b, r, at, "no memory for a record");
	if (n < 4)
		return 1;
	r = bag_read(b, at, b->head.data, n);
	if (r < 0)
		return r;
	len = log_u32(b->head.data);
	if (len > BAG_HEADERS_MAX)
		return bag_fail(b, -EBADMSG, at, "no record begins here; the file is damaged");
	if (len + 8 > bag_left(b, at))
		return 1;
	if (len + 8 > n) {
		r = bytes_room(&b->head, len + 8);
		r = r < 0 ? bag_fail(b, r, at, "no memory for a record") : bag_read(b, at, b->head.data, len + 8);
		if (r < 0)
			return r;
	}
	if (!bag_head_parse(b->head.data + 4, len, &ret->head))
		return bag_fail(b, -EBADMSG, at, "no record begins here; the file is damaged");
	ret->at = at;
	ret->data_at = at + len + 8;
	ret->data_size = log_u32(b->head.data + 4 + len);
	return 0;
}

int bag_record_next(const uint8_t *p, size_t n, size_t *at, struct bag_head *ret, const uint8_t **ret_data,
		    size_t *ret_size)
{
	size_t i = *at, len;

	if (i == n)
		return 0;
	if (n - i < 4)
		return -EBADMSG;
	len = log_u32(p + i);
	i += 4;
	if (len > n - i || n - i - len < 4 || !bag_head_parse(p + i, len, ret))
		return -EBADMSG;
	i += len;
	*ret_size = log_u32(p + i);
	*ret_data = p + i + 4;
	if (*ret_size > n - i - 4)
		return -EBADMSG;
	*at = i + 4 + *ret_size;
	return 1;
}

/* ---- connections ---- */

struct connection {
	char *topic, *type, *definition;
	struct log_pair pairs[PAIRS_MAX]; /* owns its texts */
	size_t n_pairs;
};

static char *copy(const struct bag_field *f)
{
	return mem_strndup(f->data ? (const char *)f->data : "", f->size);
}

static void connection_finish(struct connection *x)
{
	mem_free(x->topic);
	mem_free(x->type);
	mem_free(x->definition);
	for (size_t i = 0; i < x->n_pairs; i++) {
		mem_free((void *)x->pairs[i].key);
		mem_free((void *)x->pairs[i].value);
	}
}

/* false: out of memory */
static bool connection_field(struct connection *x, const struct bag_field *name, const struct bag_field *value)
{
	char **to = bag_is_text(name, "type")                 ? &x->type
		    : bag_is_text(name, "message_definition") ? &x->definition
							      : NULL;
	struct log_pair *p = &x->pairs[x->n_pairs];

	if (to) {
		mem_free(*to);
		*to = copy(value);
		return *to;
	}
	if (bag_is_text(name, "topic") || x->n_pairs == PAIRS_MAX)
		return true;
	p->key = copy(name);
	p->value = copy(value);
	x->n_pairs++;
	return p->key && p->value;
}

static int connection_read(struct connection *x, const struct bag_head *h, const uint8_t *data, size_t n)
{
	struct bag_field name, value;
	size_t at = 0;
	int r;

	x->topic = copy(&h->topic);
	if (!x->topic)
		return -ENOMEM;
	while ((r = bag_field_next(data, n, &at, &name, &value)) > 0)
		if (!connection_field(x, &name, &value))
			return -ENOMEM;
	return r;
}

/*
 * Whether the definition is known. An empty one is complete if the md5sum is that of an empty text; with another sum,
 * or "*", the recorder did not have it.
 */
static bool has_definition(const struct connection *x)
{
	const struct log_channel ch = { .metadata = x->pairs, .n_metadata = x->n_pairs };
	const char *sum = channel_metadata(&ch, "md5sum");

	return x->definition && (*x->definition || (sum && strcmp(sum, "d41d8cd98f00b204e9800998ecf8427e") == 0));
}

int bag_connection(struct bag *b, const struct bag_head *h, const uint8_t *data, size_t n, uint64_t at)
{
	struct connection x = { 0 };
	int64_t r;

	if (!h->conn.data || !h->topic.data)
		return bag_fail(b, -EBADMSG, at, "a connection without its number or topic");
	if (channels_find(&b->c.channels, h->conn.data, 4) >= 0)
		return 0;
	r = connection_read(&x, h, data, n);
	if (!r) {
		const struct log_channel ch = { .topic = x.topic,
						.message_encoding = "ros1",
						.schema_name = x.type,
						.schema_encoding = has_definition(&x) ? "ros1msg" : "",
						.schema = { .data = x.definition,
							    .size = x.definition ? strlen(x.definition) : 0 },
						.metadata = x.pairs,
						.n_metadata = x.n_pairs };

		r = channels_add(&b->c.channels, h->conn.data, 4, &ch);
	}
	connection_finish(&x);
	if (r == -EBADMSG)
		return bag_fail(b, (int)r, at, "a connection whose fields are malformed");
	return r < 0 ? bag_fail(b, (int)r, at, r == -ENOSPC ? "too many connections" : "no memory for a connection")
		     : 0;
}

/* ---- chunks ---- */

int bag_compression(struct bag *b, const struct bag_record *rec)
{
	static const struct {
		const char *name;
		enum log_compression c;
	} known[] = { { "none", LOG_COMPRESSION_NONE },
		      { "bz2", LOG_COMPRESSION_BZ2 },
		      { "lz4", LOG_COMPRESSION_LZ4 } };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (rec->head.compression.data && bag_is_text(&rec->head.compression, known[i].name))
			return (int)known[i].c;
	return bag_fail(b, -ENOTSUP, rec->at, "a chunk of a compression other than none, bz2 and lz4");
}

/* Loads n uncompressed bytes of the file. */
static int load_plain(struct bag *b, uint64_t at, uint64_t n, struct chunk *k)
{
	int r;

	if (n > b->c.r.options.max_bytes)
		return bag_fail(b, -EMSGSIZE, at, "a chunk larger than what may be read at once");
	if (chunk_room(k, (size_t)n + 1) < 0)
		return bag_fail(b, -ENOMEM, at, "no memory for a chunk");
	r = bag_read(b, at, k->data, (size_t)n);
	k->size = r < 0 ? 0 : (size_t)n;
	return r;
}

static int load_zip(struct bag *b, enum log_compression c, const struct bag_record *rec, uint64_t n, struct chunk *k)
{
	struct bag_bytes to = { .data = k->data, .room = k->room };
	size_t max = rec->head.size.data ? log_u32(rec->head.size.data) : 0;
	int r;

	if (!max || max > b->c.r.options.max_bytes)
		max = b->c.r.options.max_bytes;
	if (n > b->c.r.options.max_bytes)
		return bag_fail(b, -EMSGSIZE, rec->at, "a chunk larger than what may be read at once");
	if (bytes_room(&b->zip, (size_t)n + 1) < 0)
		return bag_fail(b, -ENOMEM, rec->at, "no memory for a chunk");
	r = bag_read(b, rec->data_at, b->zip.data, (size_t)n);
	if (r < 0)
		return r;
	r = bag_unzip(c, b->zip.data, (size_t)n, max, &to);
	k->data = to.data;
	k->room = to.room;
	k->size = to.size;
	if (!r)
		return 0;
	return bag_fail(b, r, rec->at,
			r == -EBADMSG    ? "the compressed chunk is damaged or cut off"
			: r == -EMSGSIZE ? "the chunk unpacks to more than it says, or than may be read at once"
					 : "no memory for a chunk");
}

static int load_bytes(struct bag *b, const struct chunk_entry *e, struct chunk *k)
{
	struct bag_record rec;
	uint64_t n;
	int r, c;

	if (e->kind == BAG_UNWRAPPED)
		return load_plain(b, e->offset, e->size, k);
	r = bag_record_read(b, e->offset, &rec);
	if (r || rec.head.op != BAG_CHUNK)
		return r < 0 ? r
			     : bag_fail(b, -EBADMSG, e->offset,
					"the index says that a chunk begins here, but none does");
	c = bag_compression(b, &rec);
	if (c < 0)
		return c;
	n = bag_left(b, rec.data_at);
	if (e->kind == BAG_WHOLE && rec.data_size < n)
		n = rec.data_size;
	return c == LOG_COMPRESSION_NONE ? load_plain(b, rec.data_at, n, k)
					 : load_zip(b, (enum log_compression)c, &rec, n, k);
}

/* Adds a message to k. Returns 1 if its connection is described nowhere, so its topic is unknown. */
static int message_add(struct bag *b, const struct bag_head *h, const uint8_t *data, size_t n, struct chunk *k)
{
	int64_t id = h->conn.data ? channels_find(&b->c.channels, h->conn.data, 4) : -ENOENT;

	if (id < 0 || !h->time.data)
		return 1;
	return chunk_add(k, bag_time(&h->time), (uint32_t)id, (size_t)(data - k->data), n);
}

static int records_add(struct bag *b, const struct chunk_entry *e, struct chunk *k)
{
	const uint8_t *data;
	struct bag_head h;
	size_t at = 0, n, strange = 0;
	int r, m = 0;

	while (m >= 0 && (r = bag_record_next(k->data, k->size, &at, &h, &data, &n)) > 0) {
		m = 0;
		if (h.op == BAG_CONNECTION)
			m = bag_connection(b, &h, data, n, e->offset);
		else if (h.op == BAG_MESSAGE)
			m = message_add(b, &h, data, n, k);
		strange += m == 1;
	}
	if (m < 0)
		return m == -ENOMEM ? bag_fail(b, m, e->offset, "no memory for a chunk") : m;
	if (r < 0)
		return log_fail(b->c.r.why, sizeof(b->c.r.why), r,
				"offset %" PRIu64 ": the chunk is damaged or cut off; %zu of its messages can be read",
				e->offset, k->n);
	if (strange)
		return log_fail(b->c.r.why, sizeof(b->c.r.why), -EBADMSG,
				"offset %" PRIu64
				": %zu messages of the chunk belong to connections that the file does not describe",
				e->offset, strange);
	return 0;
}

int bag_load(struct chunk_reader *c, const struct chunk_entry *e, struct chunk *k)
{
	struct bag *b = (struct bag *)c;
	char why[LOG_WHY_MAX];
	int r = load_bytes(b, e, k), s;

	if (r == -ENOMEM || !k->size)
		return r;
	memcpy(why, c->r.why, sizeof(why));
	s = records_add(b, e, k);
	if (!r || s == -ENOMEM)
		return s;
	memcpy(c->r.why, why, sizeof(why));
	return r;
}
