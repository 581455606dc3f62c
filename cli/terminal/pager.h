/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Pipes stdout into $PAGER (less -FRX) where it is a terminal and --no-pager was not given. */
void pager_open(void);
/* Waits until the reader has left it. Does nothing where none was opened. */
void pager_close(void);
