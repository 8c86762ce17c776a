/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One camera's channels: the image is read back into a loaned slot and published with the camera's info, as JPEG, and as boxes of what is in it, all with the
 * stamp of the image. Thread: the one that draws.
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

/* An image that is encoded. */
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
	uint64_t dropped; /* images that were due: what came before was not done */
	uint64_t failed;  /* by the device, or by the encoder */
	struct boxes found;
};

/* spec: keeps. Negative errno, logged. What was opened is closed by capture_close(), in any case. */
int capture_open(struct capture *c, struct sim_client *client, const struct camera_spec *spec, const struct gpu *g,
		 const char *name);
void capture_close(struct capture *c);

/* Reads what was submitted for this camera. scene: what is in the picture, for the labels of boxes. Never waits. */
void capture_start(struct capture *c, VkImage image, int64_t stamp_sim_ns, const struct stage *scene);
/* Publishes what has come. */
void capture_process(struct capture *c);
/* Until all has come; false: not within so long. */
bool capture_drain(struct capture *c, int64_t timeout_dur_ns);
bool capture_pending(const struct capture *c);

#endif
