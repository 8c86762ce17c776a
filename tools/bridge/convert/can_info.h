/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of autoware_can_msgs/CANInfo after its header and `tm`, most of them specific to one vehicle: for out and
 * in.
 */
#ifndef CAN_INFO_H
#define CAN_INFO_H

#include <stdint.h>

/* clang-format off */
/* I: an int32, F: a float64; in the message's order and spelling */
#define CAN_INFO_FIELDS(I, F) \
	I(devmode) I(drvcontmode) I(drvoverridemode) I(drvservo) I(drivepedal) I(targetpedalstr) I(inputpedalstr) \
	F(targetveloc) F(speed) I(driveshift) I(targetshift) I(inputshift) I(strmode) I(strcontmode) I(stroverridemode) \
	I(strservo) I(targettorque) I(torque) F(angle) F(targetangle) I(bbrakepress) I(brakepedal) I(brtargetpedalstr) \
	I(brinputpedalstr) F(battery) I(voltage) F(anp) I(battmaxtemparature) I(battmintemparature) F(maxchgcurrent) \
	F(maxdischgcurrent) F(sideacc) F(accellfromp) F(anglefromp) F(brakepedalfromp) F(speedfr) F(speedfl) F(speedrr) \
	F(speedrl) F(velocfromp2) I(drvmode) I(devpedalstrfromp) I(rpm) F(velocflfromp) I(ev_mode) I(temp) \
	I(shiftfrmprius) I(light) I(gaslevel) I(door) I(cluise)
/* clang-format on */

#define I(name) int32_t name;
#define F(name) double name;
struct can_info {
	CAN_INFO_FIELDS(I, F)
};
#undef I
#undef F

/* Values of driveshift, as in Autoware.AI's can_status_translator; any other is neutral. */
enum can_info_shift { CAN_INFO_DRIVE = 16, CAN_INFO_NEUTRAL = 32, CAN_INFO_REVERSE = 64, CAN_INFO_PARKING = 128 };

#endif
