#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "syntax/check.h"
#include "syntax/parse.h"
#include "syntax_fixture.h"

static char *check(struct syntax_fixture *f, const char *path, const char *before,
                   const char *after)
{
    struct buf out = {0};
    struct check_request r = {.grammars = f->grammars,
                              .path = path,
                              .before = sv_of(before),
                              .after = sv_of(after),
                              .is_new = !before};
    check_syntax(&out, &r);
    assert_true(buf_ok(&out));
    char *text = strdup(buf_cstr(&out));
    buf_finish(&out);
    return text;
}

static void silent(struct syntax_fixture *f, const char *path, const char *before,
                   const char *after)
{
    char *text = check(f, path, before, after);
    assert_string_equal(text, "");
    free(text);
}

static void tells(struct syntax_fixture *f, const char *path, const char *before,
                  const char *after, const char *wanted)
{
    char *text = check(f, path, before, after);
    if (!strstr(text, wanted)) {
        fail_msg("\"%s\" is not in \"%s\"", wanted, text);
    }
    free(text);
}

#define C_BEFORE                                                                         \
    "#include <stdio.h>\n\nint f(int a)\n{\n    if (a) {\n        return 1;\n    }\n"    \
    "    return 0;\n}\n\nint g(void)\n{\n    return f(2);\n}\n"
#define C_NO_BRACE                                                                       \
    "#include <stdio.h>\n\nint f(int a)\n{\n    if (a) {\n        return 1;\n"           \
    "    return 0;\n}\n\nint g(void)\n{\n    return f(2);\n}\n"

static void test_c(void **state)
{
    silent(*state, "a.c", C_BEFORE, C_BEFORE);
    char *text = check(*state, "a.c", C_BEFORE, C_NO_BRACE);
    assert_string_equal(text, "\n[The file now has a syntax error that it did not have "
                              "before:\n"
                              "line 5, column 12: \"{\" is not closed: if (a) {]");
    free(text);
    tells(*state, "a.c", C_BEFORE,
          "#include <stdio.h>\n\nint f(int a)\n{\n    if (a)\n        return 1;\n    }\n"
          "    return 0;\n}\n\nint g(void)\n{\n    return f(2);\n}\n",
          "line 7, column 5: nothing is open that \"}\" could close: }");
    tells(*state, "a.c", "int f(void)\n{\n    return g(1);\n}\n",
          "int f(void)\n{\n    return g(1;\n}\n",
          "line 3, column 13: \"(\" is not closed");
    tells(*state, "a.c", "int f(void)\n{\n    return 1;\n}\n",
          "int f(void)\n{\n    return 1\n}\n",
          "line 3, column 13: ; is missing: return 1");
}

static void test_python(void **state)
{
    const char *before = "def f(x):\n    if x:\n        return g(1)\n    return 2\n";
    silent(*state, "a.py", before, "def f(x):\n    if x: return 1\n    return 2\n");
    silent(*state, "a.py", before,
           "class A:\n    @p\n    def f(x):\n        if x:  # y\n            pass\n"
           "        elif z:\n            # c\n            pass\n        else:\n"
           "            return [\n    1,\n]\n        a = 1; b = 2\n");
    tells(*state, "a.py", before, "def f(x):\n    if x:\n    return g(1)\n    return 2\n",
          "line 2, column 5: no indented block follows: if x:");
    tells(*state, "a.py", before,
          "def f(x):\n    if x:\n        return g(1\n    return 2\n",
          "line 3, column 17: \"(\" is not closed: return g(1");
    tells(*state, "a.py", before,
          "def f(x):\n    if x:\n        return g(1)\n  return 2\n",
          "line 4, column 3: indentation that fits no other line: return 2");
    tells(*state, "a.py", before, "a = 1\n  b = 2\n", "line 2, column 3: indentation");
    tells(*state, "a.py", before, "if x:\n    a()\n  else:\n    b()\n",
          "line 3, column 3: indentation");
    tells(*state, "run", "#!/usr/bin/python3\na = 1\n", "#!/usr/bin/python3\na = = 1\n",
          "line 2, column ");
}

static void test_typescript(void **state)
{
    const char *before =
        "export function f(a: A): number {\n  if (a.x) {\n    return 1;\n"
        "  }\n  return g({ x: a });\n}\n";
    silent(*state, "a.ts", NULL, before);
    tells(*state, "a.ts", before,
          "export function f(a: A): number {\n  if (a.x) {\n    return 1;\n"
          "  return g({ x: a });\n}\n",
          "line 2, column 12: \"{\" is not closed: if (a.x) {");
    tells(*state, "a.ts", before,
          "export function f(a: A): number {\n  if (a.x {\n    return 1;\n"
          "  }\n  return g({ x: a });\n}\n",
          "line 2, column 6: \"(\" is not closed: if (a.x {");
}

static void test_go(void **state)
{
    const char *before =
        "package main\n\nfunc f(a int) int {\n\tif a > 1 {\n\t\treturn 2\n"
        "\t}\n\treturn g(1)\n}\n";
    silent(*state, "a.go", NULL, before);
    tells(*state, "a.go", before,
          "package main\n\nfunc f(a int) int {\n\tif a > 1 {\n\t\treturn 2\n"
          "\treturn g(1)\n}\n",
          "line 4, column 11: \"{\" is not closed: if a > 1 {");
    tells(*state, "a.go", before,
          "package main\n\nfunc f(a int) int {\n\tif a > 1 {\n\t\treturn 2\n\t}\n"
          "\treturn g(1\n}\n",
          "line 7, column 10: \"(\" is not closed: return g(1");
}

static void test_new_file(void **state)
{
    tells(*state, "a.json", NULL, "{\"a\": 1,\n \"b\": 2",
          "[The file has a syntax error:\nline 1, column 1: \"{\" is not "
          "closed");
    silent(*state, "tsconfig.json", NULL, "{\"a\": 1,}");
    silent(*state, "a.yaml", NULL, "a: {{ .Values.x }}\n{{- if y }}\nb: 1\n{{- end }}\n");
    silent(*state, "a.txt", NULL, "if (((");
    silent(*state, "a.c", NULL, "");
}

// Errors that were there before, wherever they are now.
static void test_old_errors(void **state)
{
    const char *bad = "x = = 1\ny = 2\nz = = 3\n";
    silent(*state, "a.py", bad, "x = = 1\ny = 3\nz = = 3\n");
    silent(*state, "a.py", bad, "import os\n\nx = = 1\ny = 2\n\n\nz = = 3\n");
    silent(*state, "a.py", bad, "x = = 5\ny = 2\nz = = 3\n");
    silent(*state, "a.py", bad, "z = = 3\ny = 2\nx = = 1\n");
    silent(*state, "a.py", bad, "x = 1\ny = 2\nz = = 3\n");
    tells(*state, "a.py", bad, "x = = 1\ny = = 2\nz = = 3\n",
          "has a syntax error that it did not have before:\nline 2, ");
    tells(*state, "a.py", bad, "x = = 1\ny = 2\nz = = 3\nq = = 4\n", "\nline 4, ");
    // An unclosed bracket stays the one that it was.
    silent(*state, "a.c", C_NO_BRACE, "int new;\n" C_NO_BRACE);
}

static void test_macros(void **state)
{
    silent(*state, "a.h", "int f(int a);\n",
           "int f(int a) PRINTF(1, 2) NODISCARD;\nint g(void) __THROW;\n");
    silent(*state, "a.h", "",
           "namespace a {\nclass B : public C {\npublic:\n  B();\n};\n}\n");
    silent(*state, "a.c", "",
           "int f(void)\n{\n#ifdef A\n    if (a) {\n#else\n    if (b) {\n#endif\n"
           "        g();\n    }\n    return 0;\n}\n");
    tells(*state, "a.c", "", "int f(void)\n{\n    return g(a, MAX)\n}\n",
          "line 3, column 21: ; is missing");
    silent(*state, "a.c", "",
           "int f(void)\n{\n    g(\"a\" MAX \"b\" SAYS(x) \"c\");\n}\n");
    silent(*state, "a.c", "", "int f(void)\n{\n    CHECK(a)\n    g();\n}\n");
    tells(*state, "a.c", "int a;\n", "int a;\nint b c d;\n",
          "unless a macro explains it");
}

// The parser may give up on more than the line with the slip.
static void test_several_lines(void **state)
{
    tells(*state, "a.yaml", "a:\n  b: 1\n  c: 2\n", "a:\n  b: 1\n   c: 2\n",
          "line 1, column 1: cannot be parsed as far as line 3: a:");
    // All of it: told of a change only, for a new file may be a part of another.
    tells(*state, "b.yaml", "a: 1\nb: \"c\"\n", "a: 1\nb: \"c\n",
          "cannot be parsed as far as line 2");
    silent(*state, "b.yaml", NULL, "a: 1\nb: \"c\n");
    silent(*state, "b.yaml", "a: 1\nb: \"c\n", "a: 1\nb: \"d\n");
    tells(*state, "a.py", NULL, "x = = 1\n",
          "line 1, column 5: cannot be parsed: x = = 1");
}

// Pages are often put together from files that do not close what they open.
static void test_parts_of_pages(void **state)
{
    silent(*state, "footer.html", NULL, "</div>\n</body>\n</html>\n");
    silent(*state, "header.html", NULL, "<!DOCTYPE html>\n<html><body>\n<div>\n");
    silent(*state, "a.html", NULL,
           "<?xml version=\"1.0\"?>\n<html><body><p>a > b, (x) => y</p></body></html>\n");
    tells(*state, "a.html", NULL,
          "<html>\n<body>\n<a href=\"x>y</a>\n</body>\n</html>\n</html>", "syntax error");
}

// The grammars are older than the newest syntax, and that of CSS is much older.
static void test_newer_than_grammar(void **state)
{
    silent(*state, "a.css", NULL,
           ".a {\n  .c & { x: y }\n}\n@container (width > 4px) { a { x: y } }\n"
           ":root { --x: {a:b}; --empty:; }\n@media (4px <= width) { a { b: c } }\n");
    tells(*state, "a.css", NULL, "a {\n  color: red;\nb {\n  color: blue;\n}\n",
          "line 1, column 3: \"{\" is not closed");
    silent(*state, "a.rs", NULL,
           "unsafe extern \"C\" {\n    pub safe fn x();\n    fn y();\n}\n");
    tells(*state, "a.rs", NULL, "fn f() {\n    let = 1;\n}\n", "line 2, ");
    silent(*state, "a.cpp", NULL, "export module a;\nexport int f();\n");
    silent(*state, "a.go", NULL, "package a\n\ntype X[T any] = []T\n");
    silent(*state, "a.ts", NULL, "class B<in out T> {}\n");
    silent(*state, "A.java", NULL, "import module java.base;\nclass A {}\n");
}

static void test_shown(void **state)
{
    // No more than three, long lines cut around the place, bytes that are not UTF-8.
    struct buf text = {0};
    buf_adds(&text, "s = \"");
    for (int i = 0; i < 100; i++) {
        buf_adds(&text, "\xc3\xa4");
    }
    buf_adds(&text, "\xff\"; x = = 1\n");
    for (int i = 0; i < 5; i++) {
        buf_adds(&text, "y = = 1\n");
    }
    char *out = check(*state, "a.py", "s = 1\n", buf_cstr(&text));
    assert_non_null(strstr(out, "has 6 syntax errors"));
    assert_non_null(strstr(out, "before, the first:"));
    assert_non_null(strstr(out, "x = = 1\nline 2, column "));
    assert_null(strstr(out, "line 4, "));
    free(out);
    buf_finish(&text);
}

static void test_no_answer(void **state)
{
    struct syntax_fixture *f = *state;
    struct buf out = {0};
    struct check_request r = {.path = "a.c", .after = sv_of("int f( {"), .is_new = true};
    check_syntax(&out, &r);
    assert_int_equal(out.len, 0);

    struct cancel *cancel = NULL;
    assert_int_equal(cancel_create(&cancel, NULL, NULL), PI_OK);
    cancel_set(cancel);
    r.grammars = f->grammars;
    r.cancel = cancel;
    check_syntax(&out, &r);
    assert_int_equal(out.len, 0);
    cancel_unref(cancel);

    struct buf large = {0};
    while (large.len <= PARSE_MAX_BYTES) {
        buf_adds(&large, "int f( {\n");
    }
    r.cancel = NULL;
    r.after = buf_sv(&large);
    check_syntax(&out, &r);
    assert_int_equal(out.len, 0);
    buf_finish(&large);
}

// Every beginning of a text, as new text of a whole one and the other way round.
static void test_truncated(void **state)
{
    static const struct {
        const char *path, *text;
    } cases[] = {
        {"a.c", C_BEFORE},
        {"a.py",
         "class A:\n    def f(self, x):\n        return {\n            'a': [1],\n"
         "        }[x]\n"},
        {"a.ts", "const a = `x${f({b: [1]})}`;\nclass B { c() { return /[(]/; } }\n"},
        {"a.go", "package a\n\nfunc (t *T) F(a ...int) { go func() { <-c }() }\n"},
        {"a.sh", "case $x in\na) f \"$(g `h`)\" ;;\nesac <<E\n$((1+2))\nE\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t n = 0; n <= strlen(cases[i].text); n++) {
            char *part = strndup(cases[i].text, n);
            free(check(*state, cases[i].path, cases[i].text, part));
            silent(*state, cases[i].path, part, cases[i].text);
            free(part);
        }
    }
}

static void *check_often(void *data)
{
    for (int i = 0; i < 20; i++) {
        free(check(data, "a.c", C_BEFORE, C_NO_BRACE));
        free(check(data, "a.py", "a = 1\n", "a = = 1\n"));
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, check_often, *state), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c),
        cmocka_unit_test(test_python),
        cmocka_unit_test(test_typescript),
        cmocka_unit_test(test_go),
        cmocka_unit_test(test_new_file),
        cmocka_unit_test(test_old_errors),
        cmocka_unit_test(test_macros),
        cmocka_unit_test(test_several_lines),
        cmocka_unit_test(test_parts_of_pages),
        cmocka_unit_test(test_newer_than_grammar),
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_no_answer),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_threads),
    };
    syntax_need_grammars();
    return cmocka_run_group_tests_name("syntax/check", tests, syntax_setup,
                                       syntax_teardown);
}
