/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of scenario_simulator_v2's file of parameters (parameter_file_path of its scenario_test_runner) that tells what detections
 * are disturbed by: the same names, as JSON. Thread: the owner's; loading reads a file.
 */
#ifndef SOURCES_SS2_NOISE_FILE_H
#define SOURCES_SS2_NOISE_FILE_H

#include "noise.h"

struct scene_entity;
struct sensors_detection;

struct noise_settings {
	int32_t seed; /* 0: that of the request */
	/* override_legacy_configuration: these instead of the request's */
	bool overrides, overrides_truth;
	bool all;
	double delay_s, range, deviation, lost, truth_delay_s;
	struct noise_model *model;
};

/* -EINVAL and file errors, with a sentence in err_why() that names file and key. */
int noise_file_load(const char *path, struct noise_settings **ret);
void noise_file_free(struct noise_settings *s); /* NULL is fine */

/* What a request asks for, and these settings change. NULL: nothing. */
void noise_file_settle(const struct noise_settings *s, struct sensors_detection *c);

/* Whether a group is for that entity. */
bool noise_file_names(const struct conf *group, const struct scene_entity *e);

#endif
