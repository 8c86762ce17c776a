# SPDX-License-Identifier: Apache-2.0
# Pages in a headless Chromium. browser.js drives it; browser.sh tests that. page.js has cases for ../stack/test_page.c.
TESTS_NS += tests/system/page/browser.sh
TESTS_ONCE += tests/system/page/browser.sh
# The modules of the foxglove bridge's page that need no browser, in node, beside decoders that are not ours.
TESTS += tests/system/page/modules.sh
