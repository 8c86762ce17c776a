/* SPDX-License-Identifier: Apache-2.0 */
/* What log.c and log_ring.c share. Thread: any. */
#ifndef BASE_LOG_PRIVATE_H
#define BASE_LOG_PRIVATE_H

#include "log.h"

#include <stdarg.h>

/* Give one line to the handler that is in force. */
void log_emit(enum log_level level, const char *topic, const char *text);

/* Never blocks; drops and counts when the ring is full. */
void log_ring_vput(struct log_ring *ring, enum log_level level, const char *topic, const char *fmt, va_list ap)
	__attribute__((format(printf, 4, 0)));

#endif
