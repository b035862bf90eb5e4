-- What the conversation shows, and how.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, check, equal = suite.tests, suite.check, suite.equal
local api = vim.api

function tests.question_thinking_answer_and_tokens_are_told_apart_without_colour()
  agent.record({
    blocks = { { thinking = 'first\nsecond\n' }, { text = 'The answer.\n\nIts end.\n\n' } },
    usage = { input = 1200, output = 34 },
  })
  agent.ask('what?')
  local text = agent.shown()
  check(
    text:find(
      '\n\n❯ what%?\n\n┆ first\n┆ second\n\nThe answer%.\n\nIts end%.\n\n· done, 1k tokens$'
    ),
    text
  )
end

function tests.text_without_line_ends_is_folded()
  agent.record({ { repeatText = { s = 'x', n = 300000 } } }, { { text = 'Done.' } })
  agent.ask('go')
  for line in agent.shown():gmatch('[^\n]+') do
    check(#line < 5000, 'a line of ' .. #line)
  end
  local view = require('pi.view').of(agent.session())
  check(view, 'no view')
  local found, namespace = false, api.nvim_create_namespace('pi-view-blocks')
  local marks = api.nvim_buf_get_extmarks(view.buf, namespace, 0, -1, { details = true })
  for _, mark in ipairs(marks) do
    local text = mark[4].virt_text
    found = found or text and text[1][1]:find('(+295904 bytes)', 1, true)
  end
  check(found, 'the rest is not counted')
end

function tests.output_is_a_tail_that_opens_and_closes()
  agent.record({ agent.call('bash', { command = 'seq 30; exit 3' }) }, { { text = 'Done.' } })
  agent.ask('go')
  agent.shows('▸ $ seq 30; exit 3  — exit 3')
  agent.shows('lines above, <Tab> shows them')
  agent.shows('\n│ 30\n')
  agent.shows_not('\n│ 9\n')
  agent.go_to('$ seq 30')
  agent.press('<Tab>')
  agent.shows('\n│ 9\n')
  agent.press('<Tab>')
  agent.shows_not('\n│ 30\n')
  agent.press('<Tab>')
  agent.shows('\n│ 30\n')
end

function tests.what_was_left_out_is_in_the_log_that_gf_opens()
  agent.record({ agent.call('bash', { command = 'seq 3000' }) }, { { text = 'Done.' } })
  agent.ask('go')
  agent.go_to('full log: ')
  api.nvim_win_set_cursor(0, { api.nvim_win_get_cursor(0)[1], 30 })
  agent.press('gf')
  equal(api.nvim_buf_line_count(0), 3000)
  check(api.nvim_get_current_win() ~= agent.window(), 'in the window of the conversation')
end

function tests.a_change_shows_its_lines_and_leads_to_them()
  suite.write('a.txt', 'one\ntwo\nthree\nfour\n')
  agent.record({
    agent.call('edit', {
      path = 'a.txt',
      edits = { { oldText = 'three', newText = '3\n3a' } },
    }),
  }, { { text = 'Look at a.txt:4:2, please.' } })
  agent.ask('go')
  agent.shows('▸ edit a.txt  — ok, +2 -1')
  agent.go_to('┃ +4')
  agent.press('<CR>')
  equal({ vim.fn.expand('%:t'), api.nvim_win_get_cursor(0) }, { 'a.txt', { 4, 0 } })
  agent.go_to('a.txt:4:2')
  agent.press('gf')
  equal({ vim.fn.expand('%:t'), api.nvim_win_get_cursor(0) }, { 'a.txt', { 4, 1 } })
end

-- In a patch they look like the names of the files.
function tests.lines_of_dashes_and_pluses_count()
  suite.write('a.lua', '-- a remark\n++ b\nc\n')
  agent.record({
    agent.call('edit', {
      path = 'a.lua',
      edits = { { oldText = '-- a remark\n++ b', newText = '++ a\n++ b\n-- d' } },
    }),
  }, { { text = 'Done.' } })
  agent.ask('go')
  agent.shows('▸ edit a.lua  — ok, +2 -1')
end

function tests.any_file_name_is_found_under_the_cursor()
  for _, name in ipairs({ 'rösen.txt', 'a-b_c+d.txt', 'plain' }) do
    suite.write(name, 'one\ntwo\n')
  end
  agent.record({ { text = 'See "rösen.txt:2", a-b_c+d.txt and `plain`.' } })
  agent.ask('go')
  for _, case in ipairs({
    { 'rösen', 'rösen.txt', 2 },
    { 'a-b', 'a-b_c+d.txt', 1 },
    { 'plain', 'plain', 1 },
  }) do
    agent.go_to(case[1])
    agent.press('gf')
    equal({ vim.fn.expand('%:t'), api.nvim_win_get_cursor(0)[1] }, { case[2], case[3] })
  end
end

-- The model could run commands without asking that way.
function tests.no_command_in_the_name_of_a_file_is_run()
  local path = '~/`touch${IFS}' .. vim.fn.getcwd() .. '/run`'
  agent.record(
    { agent.call('read', { path = path }), agent.call('write', { path = path, content = 'x' }) },
    { { text = 'See ' .. path .. ':1' } }
  )
  vim.cmd('Pi follow on')
  agent.ask('go')
  for _, text in ipairs({ 'read ~', 'write ~', 'See ~' }) do
    agent.go_to(text)
    agent.press('gf')
    agent.press('$gf')
  end
  vim.cmd('Pi follow off')
  check(not vim.loop.fs_stat('run'), 'it was run')
end

function tests.a_new_file_shows_its_lines()
  local text = ('line\n'):rep(12)
  agent.record({ agent.call('write', { path = 'b.txt', content = text }) }, { { text = 'Done.' } })
  agent.ask('go')
  agent.shows('▸ write b.txt  — ok, +12 -0\n┃ +1 line\n┃ +2 line')
  agent.shows('┃ … 2 lines more, <Tab> shows them')
  agent.go_to('┃ +7')
  agent.press('gf')
  equal({ vim.fn.expand('%:t'), api.nvim_win_get_cursor(0) }, { 'b.txt', { 7, 0 } })
  vim.cmd('Pi restart')
  agent.await('transcript')
  agent.shows('▸ write b.txt  — ok, +12 -0\n┃ +1 line\n┃ +2 line')
end

-- Neither an empty file nor one that had this text before has lines that are new.
function tests.a_write_without_new_lines_counts_none()
  suite.write('same.txt', 'one\ntwo\n')
  agent.record({
    agent.call('write', { path = 'empty.txt', content = '' }),
    agent.call('write', { path = 'same.txt', content = 'one\ntwo\n' }),
  }, { { text = 'Done.' } })
  agent.ask('go')
  agent.shows('▸ write empty.txt  — ok, +0 -0\n▸')
  agent.shows('▸ write same.txt  — ok\n│ Successfully wrote 8 bytes')
  equal(agent.session().changed, { added = 0, removed = 0 })
end

function tests.turns_are_reached_by_keys()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } }, { { text = 'Three.' } })
  agent.ask('first')
  agent.ask('second')
  agent.ask('third')
  agent.go_to('pi in')
  local function line_after(keys)
    agent.press(keys)
    return api.nvim_get_current_line()
  end
  equal(line_after(']]'), '❯ first')
  equal(line_after('2]]'), '❯ third')
  equal(line_after(']]'), '❯ third')
  equal(line_after('[['), '❯ second')
end

function tests.only_windows_at_the_end_follow()
  agent.record({ { text = ('line\n'):rep(50) } }, { { text = ('more\n'):rep(50) } })
  agent.ask('go')
  local follower = agent.window()
  local buf = api.nvim_win_get_buf(follower)
  vim.cmd('split')
  local reader = api.nvim_get_current_win()
  api.nvim_win_set_buf(reader, buf)
  api.nvim_win_set_cursor(reader, { 5, 2 })
  local view = vim.fn.winsaveview()
  agent.ask('go on')
  equal(vim.fn.winsaveview(), view)
  equal(api.nvim_win_get_cursor(follower)[1], api.nvim_buf_line_count(buf))
end

function tests.the_buffer_belongs_to_the_agent()
  agent.record({ { text = 'One.' } })
  agent.ask('go')
  local buf = require('pi.render').buffer(agent.session())
  equal(api.nvim_buf_get_name(buf), 'pi://' .. agent.session().id)
  local bo = vim.bo[buf]
  equal({ bo.modifiable, bo.modified, bo.buftype, bo.filetype }, { false, false, 'nofile', 'pi' })
  equal({ bo.undolevels, bo.swapfile, bo.buflisted }, { -1, false, false })
end

function tests.an_abort_is_told()
  agent.record({ agent.call('bash', { command = 'echo go; sleep 600' }) }, { { text = 'Done.' } })
  vim.cmd('Pi go')
  agent.await_text('│ go')
  agent.go_to('│ go')
  agent.press('<C-c>')
  agent.await('agent_end')
  agent.shows('— aborted')
  agent.await_text('· aborted')
end

function tests.a_failure_of_the_model_is_told()
  agent.record({ blocks = { { text = 'Half' } }, error = 'the line is dead' })
  agent.ask('go')
  agent.shows('! the line is dead')
end

function tests.retries_models_remarks_and_what_was_skipped_are_shown()
  agent.record({ { text = 'One.' } })
  agent.ask('go')
  local session = agent.session()
  session:emit({ type = 'auto_retry_start', message = 'busy; asked again in 2 s' })
  session:emit({ type = 'auto_retry_end', success = false, finalError = 'given up' })
  session:emit({ type = 'notice', level = 'info', message = 'two\nlines' })
  session:emit({
    type = 'model_changed',
    model = { id = 'x-1', name = 'X One', provider = 'x', contextWindow = 200000 },
    thinkingLevel = 'high',
  })
  session:emit({ type = 'tool_execution_start', toolCallId = 'c', toolName = 'bash', args = {} })
  local update = { type = 'tool_execution_update', toolCallId = 'c', toolName = 'bash' }
  session:emit(vim.tbl_extend('force', update, { delta = 'half a ' }))
  session:emit(vim.tbl_extend('force', update, { delta = 'line\nnext', skippedBytes = 0 }))
  session:emit(vim.tbl_extend('force', update, { delta = 'last\n', skippedBytes = 77 }))
  agent.shows(
    '· busy; asked again in 2 s\n! given up\n· two\n· lines\n· model: X One, thinking high'
  )
  agent.shows('▸ bash\n│ half a line\n│ next\n│ [77 bytes are not shown]\n│ last')
  session:emit({ type = 'model_changed', model = { id = 'a%{b}', provider = 'x' } })
  suite.wait(function()
    return require('pi').statusline():find('a{b}', 1, true)
  end, 'the name without what a status line might run')
end

function tests.who_does_not_look_is_told_how_it_ended()
  agent.record({ { text = 'One.' } }, { blocks = {}, error = 'the line is dead' })
  agent.options({ open_on_ask = false })
  agent.ask('go')
  agent.was_told('pi: done')
  agent.ask('go on')
  agent.was_told('the line is dead')
end

function tests.a_queued_prompt_is_shown_where_it_waits()
  agent.record(
    { agent.call('bash', { command = 'echo go; sleep 0.3' }) },
    { { text = 'One.' } },
    { { text = 'Two.' } }
  )
  vim.cmd('Pi go')
  agent.await_text('│ go')
  vim.cmd('Pi queue and then this')
  agent.await_text('· waits until the run ends: and then this')
  agent.await_text('Two.')
end

function tests.a_remark_does_not_cut_a_text()
  agent.record(
    { blocks = { { text = ('some words '):rep(20) .. 'end' } }, chunk = 4, chunkDelayMs = 20 },
    { { text = 'Two.' } }
  )
  vim.cmd('Pi go')
  agent.await_text('some words some')
  vim.cmd('Pi and then this')
  agent.was_told('waits until the run ends: and then this')
  agent.await_text('Two.')
  agent.shows('some words end\n\n· waits until the run ends: and then this\n')
end

function tests.a_running_call_shows_its_time()
  agent.record({ agent.call('bash', { command = 'echo go; sleep 600' }) })
  vim.cmd('Pi go')
  agent.await_text('│ go')
  local buf = require('pi.render').buffer(agent.session())
  local namespace = api.nvim_create_namespace('pi-view-blocks')
  suite.wait(function()
    for _, mark in ipairs(api.nvim_buf_get_extmarks(buf, namespace, 0, -1, { details = true })) do
      local text = mark[4].virt_text
      if text and text[1][1]:find('running 1 s') then
        return true
      end
    end
  end, 'the time')
end

agent.run()
