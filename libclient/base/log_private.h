/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by log.c and log_ring.c. Thread: any. */
#ifndef BASE_LOG_PRIVATE_H
#define BASE_LOG_PRIVATE_H

#include "log.h"

#include <stdarg.h>

/* Passes one line to the present handler. */
void log_emit(enum log_level level, const char *topic, const char *text);

/* Never blocks; drops and counts the line if the ring is full. */
void log_ring_vput(struct log_ring *ring, enum log_level level, const char *topic, const char *fmt, va_list ap)
	__attribute__((format(printf, 4, 0)));

#endif
