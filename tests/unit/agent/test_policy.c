#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/policy.h"

static char top[] = "/tmp/pi-policy-XXXXXX";
static char work[64], sibling[64], outside[80], inside[80];

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(top)) {
        return 1;
    }
    snprintf(work, sizeof work, "%s/work", top);
    snprintf(sibling, sizeof sibling, "%s/work-evil", top);
    snprintf(outside, sizeof outside, "%s/b.txt", sibling);
    snprintf(inside, sizeof inside, "%s/a.txt", work);
    return mkdir(work, 0755) || mkdir(sibling, 0755);
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(work) || rmdir(sibling) || rmdir(top);
}

// The plan owns its strings, but these tests only lend them.
static char *lend(const char *text)
{
    return (char *)(uintptr_t)text;
}

static struct tool_call change(const char *path)
{
    return (struct tool_call){
        .id = "1",
        .name = "edit",
        .plan = {.effect = TOOL_CHANGE, .target = {.path = lend(path)}}};
}

static struct tool_call command(const char *text)
{
    return (struct tool_call){
        .id = "1", .name = "bash", .plan = {.effect = TOOL_EXEC, .command = lend(text)}};
}

static void asks_for_what_may_harm(void **state)
{
    (void)state;
    struct policy p;
    // The temporary folder must not cover the test's own tree.
    assert_int_equal(policy_init(&p, PI_PERMISSIONS_ASK, work, "/var/tmp", NULL), PI_OK);
    struct tool_call in = change(inside);
    struct tool_call out = change(outside);
    struct tool_call temp = change("/var/tmp/x");
    struct tool_call exec = command("make");
    struct tool_call read = {.id = "1", .name = "read"};
    struct tool_call other = {.id = "1", .name = "mail", .plan = {.effect = TOOL_OTHER}};
    assert_int_equal(policy_judge(&p, &in), RUN_ALLOW);
    assert_int_equal(policy_judge(&p, &out), RUN_ASK);
    assert_int_equal(policy_judge(&p, &temp), RUN_ALLOW);
    assert_int_equal(policy_judge(&p, &exec), RUN_ASK);
    assert_int_equal(policy_judge(&p, &read), RUN_ALLOW);
    assert_int_equal(policy_judge(&p, &other), RUN_ASK);
    policy_finish(&p);
}

static void session_answers_cover_just_what_they_say(void **state)
{
    (void)state;
    struct policy p;
    assert_int_equal(policy_init(&p, PI_PERMISSIONS_ASK, work, "/var/tmp", NULL), PI_OK);
    struct tool_call make = command("make");
    struct tool_call make_clean = command("make clean");
    assert_true(policy_allow_session(&p, &make));
    assert_int_equal(policy_judge(&p, &make), RUN_ALLOW);
    assert_int_equal(policy_judge(&p, &make_clean), RUN_ASK);

    struct tool_call out = change(outside);
    struct tool_call elsewhere = change("/etc/passwd");
    assert_true(policy_allow_session(&p, &out));
    assert_int_equal(policy_judge(&p, &out), RUN_ALLOW);
    assert_int_equal(policy_judge(&p, &elsewhere), RUN_ASK);

    // A command whose text looks like another rule is still only a command.
    struct tool_call trick = command("change /etc");
    assert_true(policy_allow_session(&p, &trick));
    assert_int_equal(policy_judge(&p, &elsewhere), RUN_ASK);
    policy_finish(&p);
}

static void yolo_never_asks(void **state)
{
    (void)state;
    struct policy p;
    assert_int_equal(policy_init(&p, PI_PERMISSIONS_YOLO, work, "/var/tmp", NULL), PI_OK);
    struct tool_call exec = command("rm -rf x");
    struct tool_call out = change(outside);
    assert_int_equal(policy_judge(&p, &exec), RUN_ALLOW);
    assert_int_equal(policy_judge(&p, &out), RUN_ALLOW);
    policy_finish(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asks_for_what_may_harm),
        cmocka_unit_test(session_answers_cover_just_what_they_say),
        cmocka_unit_test(yolo_never_asks),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
