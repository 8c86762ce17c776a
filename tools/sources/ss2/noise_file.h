/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of scenario_simulator_v2's parameter file (parameter_file_path of its scenario_test_runner) that sets the
 * noise of detections: the same names, as JSON.
 *
 * Thread: the owner's; loading reads a file.
 */
#ifndef SOURCES_SS2_NOISE_FILE_H
#define SOURCES_SS2_NOISE_FILE_H

#include "noise.h"

struct scene_entity;
struct sensors_detection;

struct noise_settings {
	int32_t seed; /* 0: the request's seed */
	/* override_legacy_configuration: these values replace the request's */
	bool overrides, overrides_truth;
	bool all;
	double delay_s, range, deviation, lost, truth_delay_s;
	struct noise_model *model;
};

/* Errors: -EINVAL and errno of the file, with err_why() naming file and key. */
int noise_file_load(const char *path, struct noise_settings **ret);
void noise_file_free(struct noise_settings *s); /* s may be NULL */

/* Change the configuration that a request asks for by these settings. s NULL: no change. */
void noise_file_settle(const struct noise_settings *s, struct sensors_detection *c);

/* Whether a group applies to the entity. */
bool noise_file_names(const struct conf *group, const struct scene_entity *e);

#endif
