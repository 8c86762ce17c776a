/* SPDX-License-Identifier: Apache-2.0 */
/* Cameras. See apollo.h. */
#include <string.h>

#include "apollo_private.h"
#include "sim/msg/CompressedImage.h"
#include "sim/msg/Image.h"

int apollo_out_image(struct apollo_out *o)
{
	const struct sim_Image *m = APOLLO_BODY(o, Image);
	uint32_t n, height = m->height, step = m->step; /* read once: a peer may still change it */
	const uint8_t *data = sim_Image_data(m, o->in->size, &n);

	if ((uint64_t)step * height != n)
		return apollo_refuse(o, -EBADMSG, "an image of %u rows of %u bytes has %u bytes", height, step, n);
	apollo_header(o, 1, APOLLO_CAMERA_TIMESTAMP);
	apollo_frame_id(o, 2);
	pb_f64(&o->w, 3, apollo_seconds(o->in->stamp_sim_ns));
	pb_u64(&o->w, 4, height);
	pb_u64(&o->w, 5, m->width);
	apollo_body_text(o, 6, sim_Image_encoding(m, o->in->size));
	pb_u64(&o->w, 7, step);
	pb_bytes(&o->w, 8, data, n);
	return 0;
}

/* Uses Apollo's name of JPEG; any other format keeps our name. */
int apollo_out_compressed_image(struct apollo_out *o)
{
	const struct sim_CompressedImage *m = APOLLO_BODY(o, CompressedImage);
	const char *format = sim_CompressedImage_format(m, o->in->size);
	uint32_t n;
	const uint8_t *data = sim_CompressedImage_data(m, o->in->size, &n);

	apollo_header(o, 1, APOLLO_CAMERA_TIMESTAMP);
	apollo_frame_id(o, 2);
	apollo_body_text(o, 3, strcmp(format, "jpeg") ? format : "jpg");
	pb_bytes(&o->w, 4, data, n);
	pb_f64(&o->w, 5, apollo_seconds(o->in->stamp_sim_ns));
	if (o->release == APOLLO_10) {
		pb_u64(&o->w, 7, m->width);
		pb_u64(&o->w, 8, m->height);
	}
	return 0;
}
