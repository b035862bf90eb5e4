#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "session/index.h"

static int32_t add(struct index *x, const char *id, const char *parent)
{
    int32_t at = index_add(x, &(struct index_new){.type = ENTRY_MESSAGE,
                                                  .id = sv_of(id),
                                                  .parent = sv_of(parent),
                                                  .follow = !parent});
    assert_true(at != INDEX_NONE);
    return at;
}

static int32_t find(const struct index *x, const char *id)
{
    return index_find(x, sv_of(id));
}

static void test_empty(void **state)
{
    (void)state;
    struct index x = {0};
    assert_int_equal(find(&x, "a"), INDEX_NONE);
    assert_int_equal(find(&x, ""), INDEX_NONE);
    assert_int_equal(index_readable(&x, INDEX_NONE), INDEX_NONE);
    index_finish(&x);
    index_finish(NULL);
}

static void test_many(void **state)
{
    (void)state;
    enum { MANY = 100000 };
    struct index x = {0};
    char id[16], parent[16] = "";
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof id, "%08x", (unsigned)i * 2654435761U);
        assert_int_equal(add(&x, id, parent), i);
        memcpy(parent, id, sizeof id);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(id, sizeof id, "%08x", (unsigned)i * 2654435761U);
        assert_int_equal(find(&x, id), i);
        assert_string_equal(index_id(&x, i), id);
        assert_int_equal(x.entries[i].parent, i - 1);
    }
    assert_int_equal(find(&x, "nosuch"), INDEX_NONE);
    index_finish(&x);
}

static void test_parents(void **state)
{
    (void)state;
    struct index x = {0};
    assert_int_equal(add(&x, "a", ""), 0);
    assert_int_equal(x.entries[0].parent, INDEX_NONE);
    int32_t b = add(&x, "", NULL); // follows
    assert_int_equal(x.entries[b].parent, 0);
    assert_string_equal(index_id(&x, b), "");
    int32_t c = add(&x, "c", "");
    assert_int_equal(x.entries[c].parent, INDEX_NONE);
    // A lost parent hangs on the entry before its first child.
    int32_t d = add(&x, "d", "lost");
    int32_t lost = find(&x, "lost");
    assert_int_equal(x.entries[d].parent, lost);
    assert_int_equal(x.entries[lost].type, ENTRY_LOST);
    assert_int_equal(x.entries[lost].parent, c);
    int32_t e = add(&x, "e", "a");
    int32_t f = add(&x, "f", "lost");
    assert_int_equal(x.entries[e].parent, 0);
    assert_int_equal(x.entries[f].parent, lost);
    assert_int_equal(index_readable(&x, lost), c);
    assert_int_equal(index_readable(&x, f), f);
    assert_int_equal(index_readable(&x, b), b);
    // Parents stand before their children, whatever the file says.
    int32_t g = add(&x, "g", "g");
    assert_true(x.entries[g].parent < g);
    for (size_t i = 0; i < x.len; i++) {
        assert_true(x.entries[i].parent < (int32_t)i);
    }
    index_finish(&x);
}

static void test_same_id_again(void **state)
{
    (void)state;
    struct index x = {0};
    add(&x, "a", "");
    int32_t second = add(&x, "a", "a");
    assert_int_equal(x.entries[second].parent, 0);
    assert_int_equal(find(&x, "a"), second);
    index_finish(&x);
}

static void test_names(void **state)
{
    (void)state;
    for (int type = ENTRY_LOST; type <= ENTRY_OTHER; type++) {
        const char *name = entry_type_name((enum entry_type)type);
        if (name) {
            assert_int_equal(entry_type_of(sv_of(name)), type);
        }
    }
    assert_int_equal(entry_type_of(sv_of("")), ENTRY_OTHER);
    assert_int_equal(entry_type_of(sv_of("messages")), ENTRY_OTHER);
    assert_null(entry_type_name(ENTRY_OTHER));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),   cmocka_unit_test(test_many),
        cmocka_unit_test(test_parents), cmocka_unit_test(test_same_id_again),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
