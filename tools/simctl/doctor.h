/* SPDX-License-Identifier: Apache-2.0 */
/* Collects doctor's findings. Thread: main. */
#ifndef SIMCTL_DOCTOR_H
#define SIMCTL_DOCTOR_H

#include <jansson.h>

enum doctor_grade { DOCTOR_FINE, DOCTOR_WARN, DOCTOR_BAD };

struct doctor {
	json_t *findings;
	int bad;
};

void doctor_find(struct doctor *d, const char *check, enum doctor_grade g, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void doctor_check_gpus(struct doctor *d);

#endif
