/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/program.h"

static void write_over(const char *path, const char *text) {
        char beside[64];
        FILE *file;

        (void) snprintf(beside, sizeof(beside), "%s.new", path);
        file = fopen(beside, "we");
        assert_non_null(file);
        fputs(text, file);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(rename(beside, path), 0);
}

/* printf … | sha256sum. The second is as long as the first, and written at about the same time. */
static void test_another_file_in_the_same_place_has_another_digest(void **state) {
        char folder[] = "/tmp/assay-program-XXXXXX", path[48];
        Program program = {};

        assert_non_null(mkdtemp(folder));
        (void) snprintf(path, sizeof(path), "%s/program", folder);
        assert_null(program_sha256(&program, path));
        write_over(path, "one");
        assert_string_equal(program_sha256(&program, path), "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed");
        assert_string_equal(program_sha256(&program, path), "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed");
        write_over(path, "two");
        assert_string_equal(program_sha256(&program, path), "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3");
        assert_int_equal(unlink(path), 0);
        assert_null(program_sha256(&program, path));
        assert_int_equal(rmdir(folder), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_another_file_in_the_same_place_has_another_digest),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
