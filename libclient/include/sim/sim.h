/* SPDX-License-Identifier: Apache-2.0 */
/* Umbrella header of libsimclient: everything a sensor or a processing program needs. */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <sim/client.h>
#include <sim/clock.h>
#include <sim/introspect.h>
#include <sim/publisher.h>
#include <sim/service.h>
#include <sim/slot.h>
#include <sim/step.h>
#include <sim/subscriber.h>
#include <sim/timer.h>
#include <sim/types.h>

#endif
