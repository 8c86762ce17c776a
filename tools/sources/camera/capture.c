/* SPDX-License-Identifier: Apache-2.0 */
/* See capture.h. */
#include "capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sim/msg/CameraInfo.h>
#include <sim/msg/CompressedImage.h>
#include <sim/msg/Detected2DObjects.h>
#include <sim/msg/Image.h>

#include "info.h"
#include "log.h"

LOG_TOPIC("capture");

#define HEAD         64 /* of an image's body: fixed part and encoding */
#define LABEL_MAX    16
#define IDS_MAX      BOXES_MAX
#define ENCODING_MAX 4u /* with those being read back, as many as a publisher may loan */

/* Kept with each image: labels of its ids. */
struct seen {
	uint32_t n;
	struct {
		uint32_t id;
		uint8_t label;
	} at[IDS_MAX];
};

/* ---- messages published with an image ---- */

static void send_info(struct capture *c, int64_t stamp_sim_ns)
{
	struct sim_slot *slot;
	int r = sim_loan(c->infos.pub, info_body_size(), &slot);

	if (r == 0) {
		slot->stamp_sim_ns = stamp_sim_ns;
		r = outlet_send(&c->infos, slot, info_fill(&c->spec->lens, sim_slot_body_mut(slot), info_body_size()),
				NULL);
	}
	outlet_count(&c->infos, r);
}

static const char *name_of(const struct seen *s, uint32_t id)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->at[i].id == id)
			return stage_label_name(s->at[i].label);
	}
	return "Unknown";
}

static size_t fill_boxes(const struct boxes *found, const struct seen *seen, void *body, size_t cap)
{
	struct sim_builder b;
	struct sim_Detected2DObjects *all = sim_Detected2DObjects_init(body, cap, &b);
	struct sim_Detected2DObject *o = all ? sim_Detected2DObjects_objects_alloc(&b, found->n) : NULL;

	for (uint32_t i = 0; o && i < found->n; i++) {
		o[i].id = found->at[i].id;
		o[i].score = 1;
		boxes_rect(&found->at[i], &o[i].center_x, &o[i].center_y, &o[i].width, &o[i].height);
		if (sim_Detected2DObject_label_set_in(&b, &o[i], name_of(seen, found->at[i].id)) < 0)
			return 0;
	}
	return o ? sim_builder_size(&b) : 0;
}

static size_t boxes_cap(size_t n)
{
	return sim_Detected2DObjects_size(n, n * sim_string_size(LABEL_MAX));
}

static void send_boxes(struct capture *c, const struct sim_readback_ticket *t)
{
	struct sim_slot *slot;
	size_t cap;
	int r;

	boxes_find(&c->found, t->data, t->row_pitch, t->width, t->height);
	cap = boxes_cap(c->found.n);
	r = sim_loan(c->boxes.pub, cap, &slot);
	if (r == 0) {
		slot->stamp_sim_ns = t->capture_sim_ns;
		r = outlet_send(&c->boxes, slot, fill_boxes(&c->found, t->user, sim_slot_body_mut(slot), cap), NULL);
	}
	outlet_count(&c->boxes, r);
}

/* ---- the image ---- */

static void publish(struct capture *c, struct sim_slot *slot, size_t size)
{
	outlet_count(&c->images, outlet_send(&c->images, slot, size, c->token));
}

/* Starts encoding; the image is published afterwards, as the encoder reads its slot until then. False: not encoded. */
static bool encode(struct capture *c, struct sim_slot *image, size_t size, const struct sim_readback_ticket *t)
{
	size_t cap = encode_body_size(t->width, t->height);
	struct encode_job e = {
		.rgba = t->data, .width = t->width, .height = t->height, .pitch = t->row_pitch, .cap = cap
	};
	struct capture_job *job = c->jobs;
	struct sim_slot *slot;
	int r;

	if (c->encoding >= ENCODING_MAX)
		return false;
	while (job->used)
		job++;
	r = sim_loan(c->jpegs.pub, cap, &slot);
	if (r == 0) {
		e.body = sim_slot_body_mut(slot);
		e.user = job;
		r = encoder_put(c->encoder, &e);
		if (r < 0)
			sim_unloan(c->jpegs.pub, slot);
	}
	if (r < 0) {
		outlet_count(&c->jpegs, r);
		return false;
	}
	slot->stamp_sim_ns = t->capture_sim_ns;
	*job = (struct capture_job){ image, slot, size, true };
	c->encoding++;
	return true;
}

static void take_encoded(struct capture *c, bool wait)
{
	struct encode_job e;

	while (c->encoding && encoder_take(c->encoder, wait, &e)) {
		struct capture_job *job = e.user;

		if (e.result == 0) {
			outlet_count(&c->jpegs, outlet_send(&c->jpegs, job->jpeg, e.size, NULL));
		} else {
			log_warn("%s: %s", c->jpegs.name, e.why);
			sim_unloan(c->jpegs.pub, job->jpeg);
			c->failed++;
		}
		publish(c, job->image, job->image_size);
		job->used = false;
		c->encoding--;
	}
}

/* The pixels are already in the slot: writes the message's fields before them. */
static void on_image(void *arg, struct sim_readback_ticket *t)
{
	struct capture *c = arg;
	struct sim_slot *slot = sim_readback_take_slot(c->readback, t);
	struct sim_builder b;
	struct sim_Image *m;
	size_t size = 0;

	if (!slot) {
		if (t->result != -ECANCELED && c->failed++ == 0)
			log_warn("%s: %s", c->images.name, t->why);
		return;
	}
	m = sim_Image_init(sim_slot_body_mut(slot), slot->body_size, &b);
	if (m && sim_Image_encoding_set(&b, camera_encoding(c->spec->kind)) == 0 &&
	    sim_Image_data_alloc(&b, (uint32_t)t->data_size) == t->data) {
		m->width = t->width;
		m->height = t->height;
		m->step = t->row_pitch;
		size = sim_builder_size(&b);
	}
	send_info(c, t->capture_sim_ns);
	if (c->boxes.pub)
		send_boxes(c, t);
	if (!c->encoder || !encode(c, slot, size, t))
		publish(c, slot, size);
}

static void fill_seen(struct seen *s, const struct stage *scene)
{
	s->n = 0;
	for (size_t i = 0; i < scene->n && s->n < IDS_MAX; i++) {
		const struct thing *t = &scene->things[i];

		if (t->form == FORM_BUILDING || t->form == FORM_SIGNAL)
			continue;
		s->at[s->n].id = t->id;
		s->at[s->n++].label = t->label;
	}
}

void capture_start(struct capture *c, VkImage image, int64_t stamp_sim_ns, const struct stage *scene)
{
	struct sim_readback_source s = { .size = sizeof(s), .capture_sim_ns = stamp_sim_ns };
	struct sim_readback_ticket *t = NULL;
	int r;

	s.format = c->spec->kind == KIND_COLOUR     ? SIM_READBACK_RGBA8
		   : c->spec->kind == KIND_SEMANTIC ? SIM_READBACK_R8
						    : SIM_READBACK_R32F;
	s.vulkan.image = (uint64_t)image;
	s.vulkan.layout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
	r = sim_readback_start(c->readback, &s, &t);
	if (r != 0 && c->dropped++ == 0 && r < 0)
		log_warn("%s: the first image that is dropped: %s", c->images.name, sim_readback_why());
	if (r == 0 && c->boxes.pub)
		fill_seen(t->user, scene);
}

void capture_process(struct capture *c)
{
	(void)sim_readback_process(c->readback);
	if (c->encoder)
		take_encoded(c, false);
}

bool capture_pending(const struct capture *c)
{
	struct sim_readback_counters n;

	sim_readback_get_counters(c->readback, &n);
	return c->encoding || n.started > n.completed + n.failed;
}

bool capture_drain(struct capture *c, int64_t timeout_dur_ns)
{
	int r = sim_readback_drain(c->readback, timeout_dur_ns);

	if (c->encoder)
		take_encoded(c, true);
	return r == 0;
}

/* ---- creation ---- */

static int advertise(struct capture *c, struct sim_client *client, struct outlet *o, const char *channel,
		     const struct sim_type *type, size_t max_body)
{
	const struct sim_publisher_options po = { .size = sizeof(po),
						  .max_body = max_body,
						  .frame_id = c->spec->frame_id };
	int r = sim_advertise(client, channel, type, &po, &o->pub);

	o->name = channel;
	if (r < 0)
		log_error("%s: %s", channel, source_why(r));
	return r;
}

static int open_readback(struct capture *c, const struct gpu *g, const struct sim_readback_shape *shape)
{
	struct sim_readback_options o = {
		.size = sizeof(o),
		.backend = SIM_READBACK_VULKAN,
		.shape = *shape,
		.in_flight = CAPTURE_IN_FLIGHT,
		.full = SIM_READBACK_DROP_NEWEST,
		.publisher = c->images.pub,
		.head = HEAD,
		.done = on_image,
		.done_arg = c,
		.user_size = c->spec->boxes[0] ? sizeof(struct seen) : 0,
		.vulkan = { .instance = g->instance,
			    .physical_device = g->physical,
			    .device = g->device,
			    .queue = g->queue,
			    .queue_family = g->family },
	};
	int r = sim_readback_create(&o, &c->readback);

	if (r < 0)
		log_error("%s: %s", c->spec->channel, sim_readback_why());
	return r;
}

int capture_open(struct capture *c, struct sim_client *client, const struct camera_spec *spec, const struct gpu *g,
		 const char *name)
{
	const struct sim_readback_shape shape = { .format = spec->kind == KIND_COLOUR     ? SIM_READBACK_RGBA8
							    : spec->kind == KIND_SEMANTIC ? SIM_READBACK_R8
											  : SIM_READBACK_R32F,
						  .width = spec->lens.p.width,
						  .height = spec->lens.p.height };
	char token[2 * CAMERAS_NAME];
	int r;

	c->spec = spec;
	snprintf(token, sizeof(token), "%s:%s", name, spec->channel);
	r = advertise(c, client, &c->images, spec->channel, &sim_Image_type, sim_readback_body_size(&shape, HEAD));
	if (r == 0)
		r = advertise(c, client, &c->infos, spec->info, &sim_CameraInfo_type, info_body_size());
	if (r == 0 && spec->compressed[0])
		r = advertise(c, client, &c->jpegs, spec->compressed, &sim_CompressedImage_type,
			      encode_body_size(shape.width, shape.height));
	if (r == 0 && spec->boxes[0])
		r = advertise(c, client, &c->boxes, spec->boxes, &sim_Detected2DObjects_type, boxes_cap(BOXES_MAX));
	if (r == 0)
		r = sim_token_open(client, token, &c->token);
	if (r == 0 && spec->compressed[0])
		r = encoder_create(spec->quality, &c->encoder);
	if (r == 0)
		r = rate_init(&c->rate, spec->rate_hz);
	return r < 0 ? r : open_readback(c, g, &shape);
}

void capture_close(struct capture *c)
{
	if (c->encoder)
		take_encoded(c, true);
	sim_readback_destroy(c->readback);
	if (c->encoder)
		encoder_destroy(c->encoder);
	if (c->images.pub)
		log_info("%s: %llu images published, %llu refused, %llu dropped, %llu failed; %llu as JPEG",
			 c->images.name, (unsigned long long)c->images.published, (unsigned long long)c->images.refused,
			 (unsigned long long)c->dropped, (unsigned long long)c->failed,
			 (unsigned long long)c->jpegs.published);
	sim_publisher_destroy(c->images.pub);
	sim_publisher_destroy(c->infos.pub);
	sim_publisher_destroy(c->jpegs.pub);
	sim_publisher_destroy(c->boxes.pub);
	if (c->token)
		sim_token_close(c->token);
}
