/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types for which Apollo has no message. A converter of the rig is used, else a message with the same fields; either
 * way it is a protobuf message whose fields are numbered in the order of the ROS definition, with a descriptor made
 * from it. Also protobuf messages that no type of ours corresponds to, as types made from their definition (pb_type.h):
 * Apollo's, the user's, or of a .proto file.
 *
 * Thread: an open cyber_own is constant, except that only one thread may decode with it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apollo_tree.h"
#include "conversion.h"
#include "cyber.h"
#include "dec_pb.h"
#include "enc_pb.h"
#include "pb_proto.h"
#include "pb_type.h"
#include "ros/ros_generic.h"

struct cyber_own { /* uses out, in or defined */
	struct conversion_out out;
	struct conversion_in in;
	char name[CYBER_NAME_MAX + 1]; /* such as "example.FloatArray" */
	void *file;                    /* the FileDescriptorProto of name; unused with `set` */
	size_t file_size;
	struct dec_pb *decoder;
	bool failure_logged;
	/* NULL: the type has no protobuf definition */
	struct pb_type *defined;
	struct apollo_set *set; /* the files of `defined`, when sending */
};

/*
 * Turns a Cyber RT name such as "example.FloatArray" into the ROS name that converters and definitions use; a ROS name
 * is kept.
 */
static int ros_name(const char *name, char ret[CYBER_NAME_MAX + 1], char *why, size_t why_size)
{
	char *dot;

	if ((size_t)snprintf(ret, CYBER_NAME_MAX + 1, "%s", name) > CYBER_NAME_MAX) {
		snprintf(why, why_size, "the type \"%.40s...\" has more than %u bytes", name, CYBER_NAME_MAX);
		return -EINVAL;
	}
	dot = strchr(ret, '/') ? NULL : strrchr(ret, '.');
	if (dot)
		*dot = '/';
	return 0;
}

/* ---- definition sent to the peer ---- */

static int describe(struct cyber_own *o, const struct ros_type *type, char *why, size_t why_size)
{
	struct iovec iov[IOV_BUF_PIECES];
	struct iov_buf file;
	uint8_t *at;
	int r = pb_proto_name(type, o->name, sizeof(o->name));

	iov_buf_init(&file);
	if (r == 0)
		r = pb_proto_descriptor(type, &file);
	o->file = at = r == 0 ? malloc(file.total + 1) : NULL;
	if (r == 0 && !at)
		r = -ENOMEM;
	for (unsigned i = 0, n = r == 0 ? iov_buf_iov(&file, iov) : 0; i < n; i++) {
		memcpy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	o->file_size = file.total;
	iov_buf_finish(&file);
	if (r < 0)
		snprintf(why, why_size, "no definition for Cyber RT can be made of %.80s: %s", type->name,
			 r == -E2BIG ? "it nests too many types" : strerror(-r));
	return r;
}

const char *cyber_own_name(const struct cyber_own *o)
{
	return o->name;
}

size_t cyber_own_files(const struct cyber_own *o, struct iovec file[APOLLO_FILES_MAX])
{
	if (o->set)
		return apollo_set_files(o->set, o->name, file);
	file[0] = (struct iovec){ o->file, o->file_size };
	return 1;
}

bool cyber_own_is_defined(const struct cyber_own *o)
{
	return o->defined != NULL;
}

const struct sim_type *cyber_own_type(const struct cyber_own *o)
{
	return o->defined ? pb_type_sim(o->defined) : o->in.sim;
}

void cyber_own_close(struct cyber_own *o)
{
	if (!o)
		return;
	conversion_out_close(&o->out);
	conversion_in_close(&o->in);
	if (o->decoder)
		dec_pb_finish(o->decoder);
	free(o->decoder);
	pb_type_destroy(o->defined);
	apollo_set_destroy(o->set);
	free(o->file);
	free(o);
}

/* ---- out ---- */

bool cyber_own_converts(const struct sim_bridge *b, const char *sim, const char *wanted)
{
	char name[CYBER_NAME_MAX + 1], why[80];

	if (!SIM_BRIDGE_HOST_HAS(b->host, converter) || (wanted && ros_name(wanted, name, why, sizeof(why)) < 0))
		return false;
	return b->host->converter(b->host->ctx, sim, wanted ? name : NULL, 0) != NULL;
}

bool cyber_own_carries(const struct sim_type *type, const char *message)
{
	struct pb_type *t;
	char why[300];
	bool same;

	if (pb_type_of_sim(type, &t, why, sizeof(why)) < 0)
		return false;
	same = strcmp(pb_type_name(t), message) == 0;
	pb_type_destroy(t);
	return same;
}

static int name_defined(struct cyber_own *o, char *why, size_t why_size)
{
	if ((size_t)snprintf(o->name, sizeof(o->name), "%s", pb_type_name(o->defined)) < sizeof(o->name))
		return 0;
	snprintf(why, why_size, "the type \"%.40s...\" has more than %u bytes", o->name, CYBER_NAME_MAX);
	return -ENOTSUP;
}

static void keep_sentence(void *why, bool fatal, const char *sentence)
{
	(void)fatal;
	snprintf(why, 256, "%s", sentence);
}

/* Splits the set into single files, as a descriptor pool takes them, each after those that it imports. */
static int open_defined(struct cyber_own *o, char *why, size_t why_size)
{
	char text[256] = "";
	const struct apollo_set_log log = { keep_sentence, text };
	struct iovec files[APOLLO_FILES_MAX];
	const void *set;
	size_t size;
	int r = name_defined(o, why, why_size);

	if (r < 0)
		return r;
	set = pb_type_set(o->defined, &size);
	r = apollo_set_read(o->name, set, size, &log, &o->set);
	if (r == 0 && !apollo_set_files(o->set, o->name, files)) {
		snprintf(text, sizeof(text), "%.80s is defined within another message, or needs more than %u files",
			 o->name, APOLLO_FILES_MAX);
		r = -ENOTSUP;
	}
	if (r < 0)
		snprintf(why, why_size, "%s", text);
	return r == -ENOMEM ? r : r < 0 ? -ENOTSUP : 0;
}

int cyber_own_open(const struct sim_bridge *b, const struct sim_type *type, const char *wanted, struct cyber_own **ret,
		   char *why, size_t why_size)
{
	struct cyber_own *o = calloc(1, sizeof(*o));
	char name[CYBER_NAME_MAX + 1];
	int r = o ? 0 : -ENOMEM;

	if (r == 0 && !cyber_own_converts(b, type->name, wanted)) {
		r = pb_type_of_sim(type, &o->defined, why, why_size);
		if (r == 0 && wanted && strcmp(pb_type_name(o->defined), wanted) != 0) {
			pb_type_destroy(o->defined); /* the rig asks for another message */
			o->defined = NULL;
			r = -ENOENT;
		}
		if (r == 0)
			r = open_defined(o, why, why_size);
		if (r == 0) {
			*ret = o;
			return 0;
		}
		r = r == -ENOENT ? 0 : r;
	}
	if (r == 0 && wanted)
		r = ros_name(wanted, name, why, why_size);
	else if (r == 0 && !cyber_own_converts(b, type->name, NULL))
		ros_generic_name(type->name, name); /* the generic name, not that of a mapping to ROS */
	else
		name[0] = '\0';
	if (r == 0)
		r = conversion_out_open(b->host, ros2_types, type, name[0] ? name : NULL, &o->out, why, why_size);
	if (r == 0)
		r = describe(o, o->out.type, why, why_size);
	if (r < 0)
		cyber_own_close(o);
	else
		*ret = o;
	return r;
}

int cyber_own_encode(struct cyber_topic *t, const struct sim_message *m, struct iov_buf *out)
{
	const struct map_options options = { .frame = t->frame };
	const struct map_message in = { .body = m->body,
					.size = m->body_size,
					.header = { .stamp_sim_ns = m->header.stamp_sim_ns,
						    .seq = (uint32_t)m->header.sequence,
						    .frame = m->header.frame_id },
					.options = &options };
	struct enc_pb e;
	char why[300];
	int r, end;

	if (t->own->defined)
		return pb_type_encode(t->own->defined, m->body, m->body_size, out);
	enc_pb_begin(&e, out);
	r = conversion_out_emit(&t->own->out, &in, &e.enc, why, sizeof(why));
	end = enc_pb_finish(&e);
	if (r == -EPROTO && !__atomic_exchange_n(&t->own->failure_logged, true, __ATOMIC_RELAXED))
		log_error(t->bridge, "%s: its converter fails: %s", t->name,
			  why[0] ? why : "it does not follow its definition");
	return r < 0 ? r : end;
}

/* ---- in, by a definition of protobuf ---- */

/* Appends a FileDescriptorSet that defines the message: from the user's definitions, else from the built-in ones. */
static int find_definition(const struct sim_bridge *b, const char *type, struct iov_buf *out)
{
	struct iovec files[APOLLO_FILES_MAX];
	size_t n = b->definitions ? apollo_set_files(b->definitions, type, files) : 0;
	struct pb_writer w;

	n = n ? n : apollo_files(b->release, type, files);
	pb_begin(&w, out);
	for (size_t i = 0; i < n; i++) {
		void *to = pb_bytes_room(&w, 1, files[i].iov_len);

		if (to)
			memcpy(to, files[i].iov_base, files[i].iov_len);
	}
	return n ? pb_end(&w) : -ENOENT;
}

static int make_defined(struct cyber_own *o, const char *type, const struct iov_buf *set, char *why, size_t why_size)
{
	struct iovec iov[IOV_BUF_PIECES];
	unsigned n = iov_buf_iov(set, iov);

	if (n > 1)
		return -ENOMEM;
	return pb_type_create(n ? iov[0].iov_base : "", n ? iov[0].iov_len : 0, type, &o->defined, why, why_size);
}

/*
 * Reads a .proto file. Its folder and each folder above are tried as the root of its imports, since one of them is
 * protoc's --proto_path.
 */
static int read_proto(struct cyber_own *o, const char *type, const char *path, char *why, size_t why_size)
{
	char folder[4096], first[256] = "";
	int r = -ENOENT;

	for (size_t n = strlen(path); r < 0 && r != -ENOMEM && n-- > 0;) {
		char text[256] = "", sentence[300] = "";
		const struct apollo_set_log log = { keep_sentence, text };
		struct iov_buf set;

		if (path[n] != '/' || n >= sizeof(folder))
			continue;
		snprintf(folder, sizeof(folder), "%.*s", n ? (int)n : 1, path);
		iov_buf_init(&set);
		r = apollo_tree_read_file(folder, path + n + 1, &log, &set);
		if (r == 0)
			r = make_defined(o, type, &set, sentence, sizeof(sentence));
		iov_buf_finish(&set);
		if (!*first)
			snprintf(first, sizeof(first), "%.250s", *text ? text : sentence);
	}
	if (r < 0)
		snprintf(why, why_size, "%.200s: %s", path,
			 *first ? first : "the path of a .proto file must begin with /");
	return r;
}

static int open_in_defined(const struct sim_bridge *b, struct cyber_own *o, const char *type, const char *definition,
			   char *why, size_t why_size)
{
	struct iov_buf set;
	int r;

	if (definition) {
		r = read_proto(o, type, definition, why, why_size);
	} else {
		iov_buf_init(&set);
		r = find_definition(b, type, &set);
		if (r == 0)
			r = make_defined(o, type, &set, why, why_size);
		else if (r == -ENOENT)
			snprintf(why, why_size,
				 "type \"%.80s\" is not one that can come in without a converter or a definition",
				 type);
		iov_buf_finish(&set);
	}
	if (r == 0)
		r = name_defined(o, why, why_size);
	if (r == 0 && pb_type_loss(o->defined))
		log_info(b, "%s: %s", type, pb_type_loss(o->defined));
	return r;
}

/* ---- in ---- */

int cyber_own_in_open(const struct sim_bridge *b, const char *type, const char *definition, struct cyber_own **ret,
		      char *why, size_t why_size)
{
	struct cyber_own *o = calloc(1, sizeof(*o));
	char name[CYBER_NAME_MAX + 1];
	const char *dot = definition ? strrchr(definition, '.') : NULL;
	bool proto = dot && strcmp(dot, ".proto") == 0;
	int r = o ? ros_name(type, name, why, why_size) : -ENOMEM;

	if (r == 0)
		r = proto ? -ENOTSUP : conversion_in_open(b->host, ros2_types, name, definition, &o->in, why, why_size);
	if (r == 0)
		r = describe(o, o->in.type, why, why_size);
	else if (r == -ENOTSUP && (proto || !definition))
		r = open_in_defined(b, o, type, proto ? definition : NULL, why, why_size);
	if (r == 0 && !(o->decoder = malloc(sizeof(*o->decoder))))
		r = -ENOMEM;
	if (r == 0)
		dec_pb_init(o->decoder);
	if (r < 0)
		cyber_own_close(o);
	else
		*ret = o;
	return r;
}

int cyber_own_decode(struct cyber_own *o, const void *data, size_t len, struct message_in *ret)
{
	ret->unknown = 0;
	if (o->defined)
		return pb_type_decode(o->defined, o->decoder, data, len, ret);
	dec_pb_begin(o->decoder, data, len);
	return conversion_in_take(&o->in, &o->decoder->dec, ret);
}
