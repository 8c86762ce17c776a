# SPDX-License-Identifier: Apache-2.0
# awk -v to=DIR -f unpack.awk headers.txt: the headers of a stored release, each at its path below DIR, which has the folders.
/^==> / { file = to "/" $2; next }
{ print >file }
