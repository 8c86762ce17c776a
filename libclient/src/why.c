/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of errors. Thread: any; no state of its own. Here and not in libintrospect: a program that also links that
 * archive would get the archive's functions, which do not know the library's errors.
 */
#include <sim/client.h>

#include "err.h"

const char *sim_strerror(int err)
{
	return err_text(err);
}

const char *sim_why(void)
{
	return err_why();
}

const char *sim_version(void)
{
	return SIM_VERSION;
}
