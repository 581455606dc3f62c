/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text for whoever typed the command: results on stdout, what kept the verb from one on stderr. It may quote a stranger. */

#include <stddef.h>
#include <stdio.h>

/* Prints to FILE. Characters that would be commands to a terminal become question marks. */
void say(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same on stdout and with a newline, broken as wrap_print() does. */
void say_words(size_t indent, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What say() does to TEXT, which it has made by FORMAT. */
void make_plain(char *text, const char *format);
/* The same on stderr, as "assayctl: …". Returns STATUS. */
int complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
