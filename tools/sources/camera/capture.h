/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One camera's channels: reads the image back into a loaned slot, and publishes it with the camera's info, as JPEG, and
 * with the boxes of its instances, all with the image's stamp. Thread: the one that draws.
 */
#ifndef CAMERA_CAPTURE_H
#define CAMERA_CAPTURE_H

#include <sim/readback.h>
#include <sim/sim.h>

#include "../outlet.h"
#include "../rate.h"
#include "boxes.h"
#include "cameras.h"
#include "encode.h"
#include "gpu.h"
#include "stage.h"

#define CAPTURE_IN_FLIGHT 3u

/* An image that is being encoded. */
struct capture_job {
	struct sim_slot *image, *jpeg;
	size_t image_size;
	bool used;
};

struct capture {
	const struct camera_spec *spec;
	struct outlet images, infos, jpegs, boxes;
	struct sim_token *token;
	struct rate rate;
	struct sim_readback *readback;
	struct encoder *encoder; /* NULL: no JPEG */
	struct capture_job jobs[ENCODE_IN_FLIGHT];
	unsigned encoding;
	uint64_t dropped; /* due images that were skipped, as earlier ones were not finished */
	uint64_t failed;  /* errors of the device or the encoder */
	struct boxes found;
};

/* Borrows spec. Negative errno, already logged. Call capture_close() in any case. */
int capture_open(struct capture *c, struct sim_client *client, const struct camera_spec *spec, const struct gpu *g,
		 const char *name);
void capture_close(struct capture *c);

/* Starts reading back the camera's submitted image. scene: the things in it, for the labels of boxes. Never blocks. */
void capture_start(struct capture *c, VkImage image, int64_t stamp_sim_ns, const struct stage *scene);
/* Publishes images that have been read back. */
void capture_process(struct capture *c);
/* Waits until all are published; false: not in time. */
bool capture_drain(struct capture *c, int64_t timeout_dur_ns);
bool capture_pending(const struct capture *c);

#endif
