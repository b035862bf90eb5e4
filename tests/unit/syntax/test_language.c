#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "syntax/language.h"

static void check(const char *path, const char *start, const char *language)
{
    const char *found = language_of(path, sv_of(start));
    if (!language || !found) {
        assert_null(language);
        assert_null(found);
    } else {
        assert_string_equal(found, language);
    }
}

static void test_names(void **state)
{
    (void)state;
    check("/a/b.c", "", "c");
    check("b.H", "", "c");
    check("x.cc", "", "cpp");
    check("x.py", "#!/bin/sh\n", "python");
    check("x.tsx", "", "tsx");
    check("x.d.ts", "", "typescript");
    check("/dir.py/Makefile", "", NULL);
    check("/src/Rakefile", "", "ruby");
    check("xRakefile", "", NULL);
    check("/home/u/.bashrc", "", "bash");
    check("Cargo.lock", "", "toml");
    check("noc", "", NULL);
    check("", "", NULL);
    check("package.json", "", "json");
    check("tsconfig.build.json", "", NULL);
    check(".vscode/settings.json", "", NULL);
    check("a.json", "// by hand\n{}", NULL);
    check("a.json", " \n/* by hand */ {}", NULL);
    check("a.json", "{\n  // by hand\n}", NULL);
    check("a.json", "{\"a\": \"//\"}", "json");
}

static void test_interpreters(void **state)
{
    (void)state;
    check("run", "#!/bin/bash", "bash");
    check("run", "#!/bin/sh -eu\nx", "bash");
    check("run", "#!/usr/bin/env python3\n", "python");
    check("run", "#! /usr/bin/python3.11 -u\r\n", "python");
    check("run", "#!/usr/bin/env -S A=b node --x\n", "javascript");
    check("run", "#!/usr/bin/env\n", NULL);
    check("run", "#!\nbash\n", NULL);
    check("run", "#!", NULL);
    check("run", "bash\n", NULL);
    check("run", "#!/usr/bin/awk -f\n", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_interpreters),
    };
    return cmocka_run_group_tests_name("syntax/language", tests, NULL, NULL);
}
