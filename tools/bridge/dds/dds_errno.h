/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a DDS return code to a negative errno, or 0 if it is no error. Thread: any. */
#ifndef DDS_ERRNO_H
#define DDS_ERRNO_H

#include <errno.h>

#include <dds/dds.h>

static inline int dds_errno(dds_return_t r)
{
	switch (r) {
	case DDS_RETCODE_TIMEOUT:
		return -ETIMEDOUT;
	case DDS_RETCODE_OUT_OF_RESOURCES:
		return -ENOMEM;
	case DDS_RETCODE_BAD_PARAMETER:
	case DDS_RETCODE_INCONSISTENT_POLICY:
		return -EINVAL;
	case DDS_RETCODE_PRECONDITION_NOT_MET:
		return -EEXIST;
	default:
		return r < 0 ? -EIO : 0;
	}
}

#endif
