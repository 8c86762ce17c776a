/* SPDX-License-Identifier: Apache-2.0 */
/* See conversion.h. */
#include "conversion.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "apollo_in.h"
#include "apollo_ros.h"
#include "dec_watch.h"
#include "enc_check.h"
#include "generic.h"
#include "msg_file.h"
#include "ros/ros_definition.h"
#include "ros/ros_generic.h"
#include "ros/ros_text.h"
#include "ros_own.h"

__attribute__((format(printf, 4, 5))) static int fail(int err, char *why, size_t why_size, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, why_size, fmt, ap);
	va_end(ap);
	return err;
}

static const struct sim_converter *converter_of(const struct sim_bridge_host *host, const char *sim,
						const char *foreign, unsigned i)
{
	return host && SIM_BRIDGE_HOST_HAS(host, converter) ? host->converter(host->ctx, sim, foreign, i) : NULL;
}

/* The foreign type of a converter: from its definition, else a known type. */
static int converter_type(const struct sim_converter *c, const struct ros_type *const *known,
			  const struct ros_type **ret, struct ros_text **ret_made, char *why, size_t why_size)
{
	char text[256];
	int r;

	if (!c->definition) {
		r = ros_definition_type(known, c->foreign, ret, ret_made);
		return r == 0 ? 0
			      : fail(r == -ENOMEM ? r : -ELIBBAD, why, why_size,
				     "the converter of %s gives no definition of %s, and this bridge knows none",
				     c->type->name, c->foreign);
	}
	r = ros_text_create(c->foreign, c->definition, known, text, sizeof(text), ret_made);
	if (r < 0)
		return fail(r == -ENOMEM ? r : -ELIBBAD, why, why_size,
			    "the converter of %s has an invalid definition of %s: %s", c->type->name, c->foreign, text);
	*ret = ros_text_type(*ret_made);
	return 0;
}

/* Replaces the made type by the ROS message with the same name and fields, if there is one. */
static void prefer_common(const struct ros_type *const *known, const struct ros_type **type, struct ros_text **made)
{
	const struct ros_type *t;
	struct ros_text *common;

	if (ros_definition_like(*type, known, &t, &common) < 0)
		return;
	ros_text_destroy(*made);
	*made = common;
	*type = t;
}

/* Makes the message type with the fields of t. */
static int own_type(const struct sim_type *t, const struct ros_type *const *known, const struct ros_type **ret,
		    struct ros_text **ret_made, char *why, size_t why_size)
{
	enum ros_generic_words words = known == ros1_types ? ROS_GENERIC_ROS1 : ROS_GENERIC_ROS2;
	char name[ROS_GENERIC_NAME_MAX], text[256], *definition = ros_generic_text(t, words);
	int r = -ENOMEM;

	ros_generic_name(t->name, name);
	text[0] = '\0';
	if (definition)
		r = ros_text_create(name, definition, known, text, sizeof(text), ret_made);
	free(definition);
	if (r < 0)
		return fail(r == -ENOMEM ? r : -ENOTSUP, why, why_size, "%s cannot be converted to %s: %s", t->name,
			    name, text);
	*ret = ros_text_type(*ret_made);
	prefer_common(known, ret, ret_made);
	return 0;
}

/* ---- out ---- */

static int open_converter(const struct sim_bridge_host *host, const struct ros_type *const *known,
			  const struct sim_type *type, const char *foreign, struct conversion_out *c, char *why,
			  size_t why_size)
{
	const struct sim_converter *one;

	for (unsigned i = 0; (one = converter_of(host, type->name, foreign, i)) && !one->emit; i++)
		;
	if (!one)
		return -ENOENT;
	if (!sim_type_equal(one->type, type))
		return fail(-ELIBBAD, why, why_size,
			    "its converter was built with another definition of %s (hash %016llx, here %016llx): "
			    "run simgen and build it again",
			    type->name, (unsigned long long)one->type->hash, (unsigned long long)type->hash);
	c->converter = one;
	return converter_type(one, known, &c->type, &c->made, why, why_size);
}

static int open_map(const struct ros_type *const *known, const struct sim_type *type, const char *foreign,
		    struct conversion_out *c, char *why, size_t why_size)
{
	const struct map *m = map_find(type->name, foreign);
	const struct sim_type *builtin = m ? sim_type_builtin(type->name) : NULL;

	if (!m)
		return -ENOENT;
	if (!builtin || !sim_type_equal(builtin, type))
		return fail(-ENOTSUP, why, why_size, "%s has another definition here than in the program that sends it",
			    type->name);
	c->map = m;
	c->type = ros_type_find(known, m->ros);
	return c->type ? 0 : fail(-ENOTSUP, why, why_size, "%s is not defined here", m->ros);
}

/* Whether the rig gives no name, or the name of this message. */
static bool is_own_name(const struct sim_type *type, const char *foreign)
{
	char name[SIM_TYPE_NAME_MAX + 1];

	return !foreign || (ros_generic_sim_name(foreign, name) == 0 && strcmp(name, type->name) == 0);
}

int conversion_out_open(const struct sim_bridge_host *host, const struct ros_type *const *known,
			const struct sim_type *type, const char *foreign, struct conversion_out *ret, char *why,
			size_t why_size)
{
	struct conversion_out c = { .ros1 = known == ros1_types };
	int r = open_converter(host, known, type, foreign, &c, why, why_size);

	if (r == -ENOENT)
		r = open_map(known, type, foreign, &c, why, why_size);
	if (r == -ENOENT && !is_own_name(type, foreign))
		r = fail(-ENOTSUP, why, why_size, "%s has no mapping and no converter to %.80s", type->name, foreign);
	if (r == -ENOENT) {
		c.generic = type;
		r = own_type(type, known, &c.type, &c.made, why, why_size);
	}
	if (r < 0)
		ros_text_destroy(c.made);
	else
		*ret = c;
	return r;
}

const char *conversion_out_preferred(const struct sim_bridge_host *host, const struct sim_type *type,
				     const char *package)
{
	size_t len = strlen(package);

	if (converter_of(host, type->name, NULL, 0))
		return NULL;
	for (const struct map *m = map_table; m->sim; m++)
		if (strcmp(m->sim, type->name) == 0 && !m->out_only && strncmp(m->ros, package, len) == 0 &&
		    m->ros[len] == '/')
			return m->ros;
	return NULL;
}

/* ---- Apollo before Cyber RT ---- */

/* To the protobuf message from which the type was made, unless the rig wants another. */
static int open_defined(const struct sim_type *type, const char *foreign, struct conversion_out *ret, char *why,
			size_t why_size)
{
	struct conversion_out c = { .ros1 = true };
	int r = pb_type_of_sim(type, &c.defined, why, why_size);

	if (r < 0)
		return r;
	c.type = c.apollo_made = apollo_ros_type_of(pb_type_name(c.defined));
	if (!c.type)
		r = fail(-ENOMEM, why, why_size, "no memory");
	else if (foreign && strcmp(foreign, c.type->name) != 0)
		r = -ENOENT;
	if (r < 0)
		conversion_out_close(&c);
	else
		*ret = c;
	return r;
}

int conversion_out_open_apollo(const struct sim_bridge_host *host, const struct sim_type *type, const char *foreign,
			       struct conversion_out *ret, char *why, size_t why_size)
{
	const struct apollo_type *t = apollo_ros_type_for(type->name, foreign);
	struct conversion_out c = { .apollo = t, .ros1 = true };

	if (converter_of(host, type->name, foreign, 0))
		return -ENOENT;
	if (!t)
		return open_defined(type, foreign, ret, why, why_size);
	if (!sim_type_equal(apollo_type_sim(t), type))
		return fail(-ENOTSUP, why, why_size, "%s has another definition here than in the program that sends it",
			    type->name);
	c.type = c.apollo_made = foreign ? apollo_ros_type_create(foreign) : apollo_ros_type_of(apollo_type_name(t));
	if (!c.type)
		return fail(-ENOMEM, why, why_size, "no memory");
	*ret = c;
	return 0;
}

int conversion_out_apollo(const struct conversion_out *c, const struct map_message *in, struct iov_buf *out)
{
	const struct apollo_options options = { .frame = in->options->frame,
						.origin = in->options->origin,
						.undulation = in->options->undulation };
	const struct apollo_message m = { .body = in->body,
					  .size = in->size,
					  .stamp_sim_ns = in->header.stamp_sim_ns,
					  .sequence = in->header.seq,
					  .frame_id = in->header.frame,
					  .options = &options };

	return c->defined ? apollo_ros_encode_defined(c->defined, in->body, in->size, out)
			  : apollo_ros_encode(c->apollo, &m, out, NULL, 0);
}

/* Uses Apollo's definition. */
static int define(const char *foreign, const char *topic, struct conversion_in *c, char *why, size_t why_size)
{
	char text[400];
	int r = apollo_ros_defined(foreign, topic, &c->defined, text, sizeof(text));

	if (r < 0)
		return fail(r, why, why_size, "%.80s: %s", foreign, text);
	c->sim = pb_type_sim(c->defined);
	c->decoder = malloc(sizeof(*c->decoder));
	if (!c->decoder)
		return fail(-ENOMEM, why, why_size, "no memory");
	dec_pb_init(c->decoder);
	return 0;
}

int conversion_in_open_apollo(const char *foreign, const char *topic, const char *sim, bool raw,
			      struct conversion_in *ret, char *why, size_t why_size)
{
	struct conversion_in c = { .apollo = raw ? NULL : apollo_ros_find(foreign, topic, sim) };
	int r = 0;

	if (c.apollo)
		c.sim = apollo_type_sim(c.apollo);
	else if (sim)
		return fail(-ENOTSUP, why, why_size, "that type cannot be made from %.80s, a message of Apollo's",
			    foreign);
	else
		r = define(foreign, topic, &c, why, why_size);
	c.type = c.apollo_made = apollo_ros_type_create(foreign);
	if (r == 0 && !c.type)
		r = fail(-ENOMEM, why, why_size, "no memory");
	if (r < 0)
		conversion_in_close(&c);
	else
		*ret = c;
	return r;
}

static int read_apollo(const struct conversion_in *c, const void *data, size_t len, struct message_in *to)
{
	const struct apollo_options options = { .undulation = c->undulation, .origin = c->origin };
	int r = apollo_ros_message(data, len, &data, &len);

	to->sequence = 0;
	if (r < 0)
		return r;
	return c->defined ? pb_type_decode(c->defined, c->decoder, data, len, to)
			  : apollo_in_read(c->apollo, &options, data, len, to, NULL, 0);
}

void conversion_out_close(struct conversion_out *c)
{
	ros_text_destroy(c->made);
	pb_type_destroy(c->defined);
	free(c->apollo_made);
	memset(c, 0, sizeof(*c));
}

int conversion_out_before_1_8(struct conversion_out *c, const struct ros_type *const *known, bool *ret, char *why,
			      size_t why_size)
{
	static const char name[] = "autoware_perception_msgs/TrafficLightGroupArray";
	static const char definition[] = "builtin_interfaces/Time stamp\n"
					 "autoware_perception_msgs/TrafficLightGroup[] traffic_light_groups\n"
					 "====\n"
					 "MSG: autoware_perception_msgs/TrafficLightGroup\n"
					 "int64 traffic_light_group_id\n"
					 "autoware_perception_msgs/TrafficLightElement[] elements\n";
	int r;

	*ret = c->map && strcmp(c->map->ros, name) == 0;
	if (!*ret)
		return 0;
	r = ros_text_create(name, definition, known, why, why_size, &c->made);
	if (r == 0)
		c->type = ros_text_type(c->made);
	return r;
}

static int emit_checked(const struct conversion_out *c, const struct map_message *in, struct sim_enc *e, char *why,
			size_t why_size)
{
	struct sim_converter_in ci = {
		.size = sizeof(ci), .body_size = (uint32_t)in->size, .body = in->body, .header = in->header
	};
	struct enc_check check;
	int r, checked;

	if (in->options->frame)
		ci.header.frame = in->options->frame;
	enc_check_begin(&check, c->type, e);
	r = c->converter->emit(&ci, &check.enc);
	checked = r < 0 ? 0 : enc_check_end(&check);
	if (checked == -EPROTO && check.why[0])
		snprintf(why, why_size, "%s", check.why);
	return r < 0 ? r : checked;
}

int conversion_out_emit(const struct conversion_out *c, const struct map_message *in, struct sim_enc *e, char *why,
			size_t why_size)
{
	struct map_message m = *in;

	why[0] = '\0';
	if (c->converter)
		return emit_checked(c, in, e, why, why_size);
	m.ros1 = c->ros1;
	return c->map ? c->map->emit(&m, e) : generic_emit(c->generic, in->body, in->size, e);
}

const char *conversion_out_how(const struct conversion_out *c)
{
	return c->converter ? "converter" : c->map || c->apollo ? "mapping" : "own fields";
}

/* ---- in ---- */

/* Uses the .msg file that the rig names. */
static int open_file(const struct ros_type *const *known, const char *foreign, const char *path,
		     struct conversion_in *c, char *why, size_t why_size)
{
	char name[SIM_TYPE_NAME_MAX + 1];
	int r = ros_generic_sim_name(foreign, name);

	if (r < 0)
		return fail(r, why, why_size, "\"%.80s\" is not of the form package/msg/Name", foreign);
	r = msg_file_read(name, path, why, why_size, &c->file);
	if (r < 0)
		return r;
	c->sim = msg_file_type(c->file);
	return own_type(c->sim, known, &c->type, &c->made, why, why_size);
}

static int open_generic_in(const struct sim_bridge_host *host, const struct ros_type *const *known, const char *foreign,
			   struct conversion_in *c, char *why, size_t why_size)
{
	char name[SIM_TYPE_NAME_MAX + 1];
	const struct sim_converter *one = NULL;

	if (ros_generic_sim_name(foreign, name) == 0) {
		c->sim = sim_type_builtin(name);
		one = c->sim ? NULL : converter_of(host, name, NULL, 0);
	}
	if (one)
		c->sim = one->type; /* the converter is for another message, but it defines our type */
	if (!c->sim)
		return fail(-ENOTSUP, why, why_size,
			    "type \"%.80s\" is not one that can come in without a converter or a definition", foreign);
	return own_type(c->sim, known, &c->type, &c->made, why, why_size);
}

/* By a converter, a mapping or field by field; sim NULL: the default type. */
static int open_foreign(const struct sim_bridge_host *host, const struct ros_type *const *known, const char *foreign,
			const char *sim, struct conversion_in *c, char *why, size_t why_size)
{
	unsigned i = 0;

	while ((c->converter = converter_of(host, sim, foreign, i)) && !c->converter->read)
		i++;
	if (c->converter) {
		c->sim = c->converter->type;
		return converter_type(c->converter, known, &c->type, &c->made, why, why_size);
	}
	c->map_in = map_in_find_to(foreign, sim);
	if (!c->map_in)
		return open_generic_in(host, known, foreign, c, why, why_size);
	c->sim = sim_type_builtin(c->map_in->sim);
	c->type = ros_type_find(known, c->map_in->ros);
	return c->sim && c->type ? 0 : fail(-ENOTSUP, why, why_size, "%s is not defined here", c->map_in->ros);
}

int conversion_in_open(const struct sim_bridge_host *host, const struct ros_type *const *known, const char *foreign,
		       const char *definition, struct conversion_in *ret, char *why, size_t why_size)
{
	struct conversion_in c = { .type = NULL };
	int r = definition ? open_file(known, foreign, definition, &c, why, why_size)
			   : open_foreign(host, known, foreign, NULL, &c, why, why_size);

	if (r < 0)
		conversion_in_close(&c);
	else
		*ret = c;
	return r;
}

int conversion_in_open_as(const struct sim_bridge_host *host, const struct ros_type *const *known, const char *foreign,
			  const char *sim, struct conversion_in *ret, char *why, size_t why_size)
{
	struct conversion_in c = { .type = NULL };
	int r = open_foreign(host, known, foreign, sim, &c, why, why_size);

	if (r == -ENOTSUP || (r == 0 && strcmp(c.sim->name, sim) != 0))
		r = fail(-ENOTSUP, why, why_size, "%.63s cannot be made from %.80s", sim, foreign);
	if (r < 0)
		conversion_in_close(&c);
	else
		*ret = c;
	return r;
}

/* Sets the type made from a definition; its leading header, if any, gives stamp and frame. */
static void set_own(struct conversion_in *c)
{
	const struct sim_field *f = c->own->fields;

	c->sim = c->own;
	c->has_header = c->own->n_fields && f->type && f->array == SIM_ARRAY_NONE && f->type->n_fields == 2 &&
			strcmp(f->type->name, "std_msgs/Header") == 0;
}

int conversion_in_open_common(const struct ros_type *const *known, bool jazzy, const char *foreign,
			      struct conversion_in *ret, char *why, size_t why_size)
{
	struct conversion_in c = { .type = NULL };
	char text[256];
	int r = jazzy ? ros_definition_of_jazzy(foreign, &c.type, &c.made) : -ENOENT;

	if (r == -ENOENT)
		r = ros_definition_type(known, foreign, &c.type, &c.made);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	r = ros_own_type(c.type, known, &c.own, text, sizeof(text));
	if (r < 0) {
		conversion_in_close(&c);
		return fail(r, why, why_size, "no type of ours can be made of %.80s: %s", foreign, text);
	}
	set_own(&c);
	*ret = c;
	return 0;
}

/* ---- with a definition that comes with the messages ---- */

static bool is_before_1_8(const struct conversion_in *c, const struct ros_type *const *known,
			  const struct ros_type *theirs)
{
	struct conversion_out out = { .map = map_find(c->sim->name, c->type->name) };
	const char *field;
	bool is = false;
	char why[200];

	is = out.map && conversion_out_before_1_8(&out, known, &is, why, sizeof(why)) == 0 && is &&
	     ros_type_same(theirs, out.type, &field);
	conversion_out_close(&out);
	return is;
}

/* Opens what is known here; the definition must match it. */
static int open_known(const struct sim_bridge_host *host, const struct ros_type *const *known, const char *foreign,
		      const struct ros_text *text, struct conversion_in *c, char *why, size_t why_size)
{
	const struct ros_type *theirs = text ? ros_text_type(text) : NULL;
	const char *field;
	int r = open_foreign(host, known, foreign, NULL, c, why, why_size);

	if (r < 0 || !theirs)
		return r;
	c->before_1_8 = c->map_in && is_before_1_8(c, known, theirs);
	if (c->before_1_8 || ros_type_same(theirs, c->type, &field))
		return 0;
	return fail(-EBADMSG, why, why_size, "its definition is another one than here, from the field \"%.60s\" on",
		    field);
}

/* Opens it field by field; takes ownership of *text. */
static int open_own(const struct ros_type *const *known, const char *foreign, struct ros_text **text,
		    struct conversion_in *c, char *why, size_t why_size)
{
	char sentence[300];
	int r;

	if (!*text) {
		r = conversion_in_open_common(known, false, foreign, c, why, why_size);
		return r != -ENOENT ? r
				    : fail(-ENOTSUP, why, why_size,
					   "there is no definition of this type, and it is not known here");
	}
	c->made = *text;
	*text = NULL;
	c->type = ros_text_type(c->made);
	r = ros_own_type(c->type, known, &c->own, sentence, sizeof(sentence));
	if (r < 0)
		return fail(r, why, why_size, "no type can be made of its definition: %s", sentence);
	set_own(c);
	return 0;
}

static int open_text(const struct sim_bridge_host *host, const struct ros_type *const *known, const char *foreign,
		     struct ros_text **text, bool raw, struct conversion_in *c, char *why, size_t why_size)
{
	int r = raw ? -ENOTSUP : open_known(host, known, foreign, *text, c, why, why_size);

	if (r == -ENOTSUP) {
		conversion_in_close(c);
		r = open_own(known, foreign, text, c, why, why_size);
	}
	return r == -EBADMSG ? -ENOTSUP : r;
}

int conversion_in_open_text(const struct sim_bridge_host *host, const struct ros_type *const *known,
			    const char *foreign, const char *definition, bool raw, struct conversion_in *ret, char *why,
			    size_t why_size)
{
	struct conversion_in c = { .type = NULL };
	struct ros_text *text = NULL;
	char sentence[300];
	int r = definition ? ros_text_create(foreign, definition, known, sentence, sizeof(sentence), &text) : 0;

	if (r < 0)
		return fail(r == -ENOMEM ? r : -ENOTSUP, why, why_size, "its definition cannot be read: %s", sentence);
	r = open_text(host, known, foreign, &text, raw, &c, why, why_size);
	ros_text_destroy(text);
	if (r < 0)
		conversion_in_close(&c);
	else
		*ret = c;
	return r;
}

void conversion_in_close(struct conversion_in *c)
{
	ros_text_destroy(c->made);
	pb_type_destroy(c->defined);
	if (c->decoder)
		dec_pb_finish(c->decoder);
	free(c->decoder);
	free(c->apollo_made);
	sim_type_unref(c->own);
	msg_file_destroy(c->file);
	memset(c, 0, sizeof(*c));
}

/* ---- reading ---- */

/*
 * Makes any decoder read the form before autoware_msgs 1.8, which has no predictions: their list is empty, and takes no
 * bytes.
 */
struct ops_before_1_8 {
	struct sim_dec_ops ops; /* first member */
	const struct sim_dec_ops *all;
};

static uint32_t list_before_1_8(struct sim_dec *d, const char *name, uint32_t fixed, size_t min)
{
	const struct ops_before_1_8 *o = (const struct ops_before_1_8 *)(const void *)d->ops;

	return name && strcmp(name, "predictions") == 0 ? 0 : o->all->list(d, name, fixed, min);
}

static int take_before_1_8(const struct conversion_in *c, struct sim_dec *d, struct message_in *to)
{
	struct ops_before_1_8 o = { .ops = *d->ops, .all = d->ops };
	int r;

	o.ops.list = list_before_1_8;
	d->ops = &o.ops;
	r = map_in_take(c->map_in, d, to);
	d->ops = o.all;
	return r;
}

/* Takes stamp and frame from the std_msgs/Header at the beginning of the body. */
static void take_header(struct message_in *m)
{
	struct {
		int64_t stamp_sim_ns;
		struct sim_span frame;
	} h;

	if (m->size < sizeof(h))
		return;
	memcpy(&h, m->buf, sizeof(h));
	m->stamp_sim_ns = h.stamp_sim_ns;
	if (h.frame.offset <= m->size && h.frame.count <= m->size - h.frame.offset)
		message_in_set_frame(m, (const uint8_t *)m->buf + h.frame.offset, h.frame.count);
}

static int take_generic(const struct conversion_in *c, struct sim_dec *d, struct message_in *to)
{
	int r = generic_read(c->sim, d, to->buf, to->room, &to->size);

	if (r == 0 && to->size <= to->room && c->has_header)
		take_header(to);
	return r;
}

/* Converters have no parameters for stamp and frame: dec_watch takes them from the message. */
static int convert(const struct sim_converter *c, struct sim_dec *d, struct message_in *to)
{
	struct dec_watch w;
	int r;

	dec_watch_begin(&w, d, to);
	r = c->read(&w.dec, to->buf, to->room, &to->size);
	if (w.dec.err)
		sim_dec_fail(d, w.dec.err);
	return r;
}

static int take_mapped(const struct conversion_in *c, struct sim_dec *d, struct message_in *to)
{
	int r = c->before_1_8 ? take_before_1_8(c, d, to) : map_in_take(c->map_in, d, to);

	if (r == 0)
		map_in_place(c->map_in, to, c->undulation, c->origin);
	return r;
}

int conversion_in_take(const struct conversion_in *c, struct sim_dec *d, struct message_in *to)
{
	int r;

	if (c->map_in)
		return take_mapped(c, d, to);
	message_in_clear(to);
	r = c->converter ? convert(c->converter, d, to) : take_generic(c, d, to);
	if (d->err && (r >= 0 || (r == -ERANGE && d->err == -EBADMSG)))
		r = d->err; /* a malformed message cannot be out of range */
	return r == 0 && to->size > to->room ? -ENOBUFS : r;
}

int conversion_in_read(const struct conversion_in *c, enum wire_format format, const void *data, size_t len,
		       struct message_in *to)
{
	struct cdr_reader d;
	int r, e;

	if (c->apollo || c->defined)
		return read_apollo(c, data, len, to);
	cdr_reader_begin(&d, format, data, len);
	r = conversion_in_take(c, &d.dec, to);
	to->sequence = d.sequence;
	e = cdr_reader_end(&d);
	return e < 0 && (r >= 0 || (r == -ERANGE && e == -EBADMSG)) ? e : r;
}
