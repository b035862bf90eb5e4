#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "syntax/outline.h"
#include "syntax_fixture.h"

static void check(struct syntax_fixture *f, const char *path, const char *text,
                  const char *rows)
{
    struct buf out = {0};
    size_t left_out = 99;
    struct outline_request r = {
        .grammars = f->grammars, .path = path, .text = sv_of(text)};
    bool found = !outline_write(&out, &left_out, &r);
    assert_string_equal(buf_cstr(&out), rows);
    assert_int_equal(found, rows[0] != '\0');
    assert_int_equal(left_out, found ? 0 : 99);
    buf_finish(&out);
}

static void test_c(void **state)
{
    check(*state, "a.c",
          "#define MAX(a, b) \\\n    ((a) > (b))\nstruct a;\nstruct a {\n    int b;\n};\n"
          "typedef struct {\n    int c;\n} d;\nint f(struct a *x);\n\n"
          "static const char *(*g(int a))(void)\n{\n    return 0;\n}\n",
          "1-2 macro MAX\n4-6 struct a\n7-9 typedef d\n12-15 function g\n");
    check(*state, "a.h",
          "enum a {\n    B\n};\nint f(struct a *x);\nchar **g(void);\nextern int h;\n"
          "int k(void) NODISCARD;\n",
          "1-3 enum a\n4 declaration f\n5 declaration g\n7 declaration k\n");
    check(
        *state, "a.cpp",
        "namespace n {\ntemplate <class T>\nclass A : public B {\npublic:\n  A();\n"
        "  int m() const { return 1; }\n};\n}\nint n::A::q(int &a)\n{\n  return a;\n}\n",
        "1-8 namespace n\n  2-7 class A\n    6 method m\n9-12 function n::A::q\n");
}

static void test_scripts(void **state)
{
    check(*state, "a.py",
          "@x\nclass A(B):\n    @property\n    def f(self):\n        def g(): pass\n"
          "        return g\n\nasync def h():\n    pass\n",
          "1-6 class A\n  3-6 method f\n    5 function g\n8-9 function h\n");
    check(*state, "a.rb",
          "module M\n  class A\n    def self.f; end\n    def g\n    end\n  end\nend\n",
          "1-7 module M\n  2-6 class A\n    3 method f\n    4-5 method g\n");
    check(*state, "a.sh", "f() {\n  echo\n}\nfunction g { :; }\n",
          "1-3 function f\n4 function g\n");
    check(*state, "a.lua", "local function f()\nend\nfunction M.g() end\n",
          "1-2 function f\n3 function M.g\n");
    check(*state, "a.php",
          "<?php\nclass A {\n  function f() {\n  }\n}\nfunction g() {}\n",
          "2-5 class A\n  3-4 method f\n6 function g\n");
}

static void test_web(void **state)
{
    check(
        *state, "a.ts",
        "export interface A {\n  x: number;\n}\nexport class B {\n  f(): void {}\n"
        "  g = () => {\n    return 1;\n  };\n}\nexport const h = async (a: A) => {\n};\n"
        "namespace N {\n  enum E { A }\n}\ntype T = {\n  a: 1;\n};\nconst q = 1;\n",
        "1-3 interface A\n4-9 class B\n  5 method f\n  6-8 method g\n10-11 function h\n"
        "12-14 namespace N\n  13 enum E\n15-17 type T\n");
    check(*state, "a.test.js",
          "describe('a', () => {\n  it('b', () => {\n    f();\n  });\n});\n"
          "const c = function () {};\n",
          "1-5 test describe 'a'\n  2-4 test it 'b'\n6 function c\n");
    check(*state, "a.css", "a,\nb {\n  c: d;\n}\n", "1-4 rule a, b\n");
    check(*state, "a.json", "{\n  \"a\": {\n    \"b\": 1\n  },\n  \"c\": 2\n}\n",
          "2-4 key \"a\"\n");
    check(*state, "a.yaml", "a:\n  b: 1\n  c:\n    - d\ne: 2\n",
          "1-4 key a\n  3-4 key c\n");
    check(*state, "a.toml", "[a.b]\nc = 1\n\n[[d]]\ne = 1\n",
          "1-2 table a.b\n4-5 array d\n");
}

static void test_compiled(void **state)
{
    check(
        *state, "a.go",
        "package a\n\ntype T struct {\n\tx int\n}\n\nfunc (t *T) F() {\n}\nfunc g() {}\n",
        "3-5 type T\n7-8 method (t *T) F\n9 function g\n");
    check(*state, "a.rs",
          "mod m;\nstruct S { a: u8 }\nimpl fmt::Display for S {\n    fn f(&self) {}\n}\n"
          "trait T {\n    fn g();\n}\nfn main() {}\n",
          "2 struct S\n3-5 impl fmt::Display for S\n  4 method f\n6-8 trait T\n"
          "  7 method g\n9 function main\n");
    check(*state, "A.java",
          "class A {\n  A() {}\n  int f() { return 1; }\n  enum E { X }\n}\ninterface I "
          "{}\n",
          "1-5 class A\n  2 constructor A\n  3 method f\n  4 enum E\n6 interface I\n");
}

static void test_markdown(void **state)
{
    check(*state, "a.md", "text\n\n# A\n\n## B\ntext\n\n# C\n",
          "3-6 # A\n  5-6 ## B\n8 # C\n");
}

static void test_nothing(void **state)
{
    check(*state, "a.c", "", "");
    check(*state, "a.c", "// nothing\n", "");
    check(*state, "a.txt", "int f(void) {}\n", "");
    struct syntax_fixture none = {0};
    check(&none, "a.c", "int f(void) {}\n", "");
}

// Names come in one line, not too long, as UTF-8.
static void test_names(void **state)
{
    struct buf text = {0}, wanted = {0};
    buf_adds(&text, "# a \t b\xff");
    buf_adds(&wanted, "1 # a b\xEF\xBF\xBD");
    for (int i = 0; i < 100; i++) {
        buf_adds(&text, "\xc3\xa4");
    }
    for (int i = 0; i < 47; i++) {
        buf_adds(&wanted, "\xc3\xa4");
    }
    buf_addc(&text, '\n');
    buf_addc(&wanted, '\n');
    check(*state, "a.md", buf_cstr(&text), buf_cstr(&wanted));
    buf_finish(&text);
    buf_finish(&wanted);
}

// The deepest go first, of these the shortest.
static void test_many(void **state)
{
    struct syntax_fixture *f = *state;
    struct buf text = {0}, out = {0};
    size_t left_out = 0;
    for (int i = 0; i < 10; i++) {
        buf_addf(&text, "class C%d:\n", i);
        for (int m = 0; m < 15; m++) {
            buf_addf(&text, "    def m%d_%d():\n%s        pass\n", i, m,
                     m < 9 ? "        x\n" : "");
        }
    }
    struct outline_request r = {
        .grammars = f->grammars, .path = "a.py", .text = buf_sv(&text)};
    assert_null(outline_write(&out, &left_out, &r));
    assert_int_equal(left_out, 60);
    size_t rows = 0;
    for (size_t i = 0; i < out.len; i++) {
        rows += out.data[i] == '\n';
    }
    assert_int_equal(rows, OUTLINE_MAX_ROWS);
    assert_non_null(strstr(buf_cstr(&out), "class C9\n"));
    assert_non_null(strstr(buf_cstr(&out), "method m9_8\n"));
    assert_null(strstr(buf_cstr(&out), "m0_9"));
    buf_finish(&text);
    buf_finish(&out);
}

static void test_truncated(void **state)
{
    struct syntax_fixture *f = *state;
    static const struct {
        const char *path, *text;
    } cases[] = {
        {"a.cpp",
         "namespace n { template <class T> class A { int &f() { return a; } }; }\n"},
        {"a.ts", "export class B { g = () => { return `${a}`; }; }\n"},
        {"a.md", "# a\n\nb\n===\n\n- c\n"},
        {"a.yaml", "a:\n  - b: &c\n      d: |\n        e\n"},
        {"a.rs", "impl<T> A for B<T> where T: C { fn f() -> u8 { 1 } }\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t n = 0; n <= strlen(cases[i].text); n++) {
            struct buf out = {0};
            size_t left_out;
            struct outline_request r = {.grammars = f->grammars,
                                        .path = cases[i].path,
                                        .text = sv_make(cases[i].text, n)};
            bool found = !outline_write(&out, &left_out, &r);
            assert_int_equal(found, out.len > 0);
            buf_finish(&out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_c),         cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_web),       cmocka_unit_test(test_compiled),
        cmocka_unit_test(test_markdown),  cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_names),     cmocka_unit_test(test_many),
        cmocka_unit_test(test_truncated),
    };
    syntax_need_grammars();
    return cmocka_run_group_tests_name("syntax/outline", tests, syntax_setup,
                                       syntax_teardown);
}
