/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses, see status.h. Thread: any. */
#include "status.h"

#include <errno.h>

int status_of(int r)
{
	switch (r) {
	case 0:
		return 0;
	case -EINVAL:
	case -ENOENT:
	case -EPERM:
	case -EACCES:
	case -EISDIR:
	case -EEXIST:
	case -E2BIG:
	case -ELIBBAD:
	case -EMEDIUMTYPE:
	case -EOPNOTSUPP:
		return STATUS_NEVER_WORKS;
	default:
		return 1;
	}
}
