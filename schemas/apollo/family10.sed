# SPDX-License-Identifier: Apache-2.0
# The definitions of Apollo 10: see family5.sed.
/ \/\/ 5$/d
s| // 10$||
