/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Printer
 *
 * Writes JSON into growing memory, on one line. It sets the commas; the caller sets keys, each once. An
 * error sticks, so that one look at the end is enough. Numbers are printed under the C locale whatever the
 * process has.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "checks/text/cleanup.h"

typedef struct Printer {
        char *text; /* not ended by a zero */
        size_t n, size;
        int error; /* 0 or -ENOMEM */
} Printer;

void printer_done(Printer *printer);
#define _cleanup_printer_ _cleanup_(printer_done)

/* Bytes as they are, without a comma. */
void printer_raw(Printer *printer, const void *text, size_t n);
void printer_text(Printer *printer, const char *text);
void printer_digits(Printer *printer, uint64_t value); /* in decimal */
void printer_base64(Printer *printer, const void *data, size_t n);

void printer_open(Printer *printer, char bracket);  /* '{' or '[', as a value */
void printer_close(Printer *printer, char bracket); /* '}' or ']' */
void printer_key_of(Printer *printer, const char *key, size_t n);

/* How long a key is the compiler knows. */
static inline void printer_key(Printer *printer, const char *key) {
        printer_key_of(printer, key, strlen(key));
}

/* Text that is not UTF-8 has each bad byte replaced by U+FFFD. */
void printer_string(Printer *printer, const char *text);
/* The shortest text that reads back as VALUE, which is finite. */
void printer_number(Printer *printer, double value);
/* A JSON number up to 2^53 - 1, a decimal string beyond: readers hold numbers as doubles. */
void printer_unsigned(Printer *printer, uint64_t value);
void printer_bool(Printer *printer, int value);
/* Formatted as text, not as JSON. */
void printer_format(Printer *printer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text of printer_number() alone: its length, or -ENOMEM. */
#define NUMBER_TEXT_MAX 32
int number_format(double value, char text[static NUMBER_TEXT_MAX]);

/* Key and value. */
static inline void printer_member_always(Printer *printer, const char *key, const char *text) {
        printer_key(printer, key);
        printer_string(printer, text);
}
/* The string may be NULL or "": then nothing is written. */
static inline void printer_member(Printer *printer, const char *key, const char *text) {
        if (text && *text)
                printer_member_always(printer, key, text);
}
static inline void printer_member_number(Printer *printer, const char *key, double value) {
        printer_key(printer, key);
        printer_number(printer, value);
}
static inline void printer_member_unsigned(Printer *printer, const char *key, uint64_t value) {
        printer_key(printer, key);
        printer_unsigned(printer, value);
}
static inline void printer_member_bool(Printer *printer, const char *key, int value) {
        printer_key(printer, key);
        printer_bool(printer, value);
}
/* A key and the bracket that opens its value. Returns where they begin, for who closes what may be empty. */
static inline size_t printer_member_open(Printer *printer, const char *key, char bracket) {
        size_t began = printer->n;

        printer_key(printer, key);
        printer_open(printer, bracket);
        return began;
}
/* Closes what BEGAN there; where nothing stands in it, it is taken back with its key. */
void printer_close_unless_empty(Printer *printer, size_t began, char bracket);
void printer_member_base64(Printer *printer, const char *key, const void *data, size_t n);
void printer_member_digits(Printer *printer, const char *key, uint64_t value); /* as a decimal string */
