-- What happens to the user's files while the agent works; each test is named after its rule.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, equal, check = suite.tests, suite.equal, suite.check
local call = agent.call
local api = vim.api

local function lines(buf)
  return api.nvim_buf_get_lines(buf or 0, 0, -1, true)
end

local function visit(name, text)
  suite.write(name, text)
  vim.cmd('edit! ' .. name)
  return api.nvim_get_current_buf()
end

local function edit(path, old, new)
  return call('edit', { path = path, edits = { { oldText = old, newText = new } } })
end

local function bash(command)
  return call('bash', { command = command })
end

-- The agent makes these calls, one turn for each, and ends.
local function run(...)
  local turns = vim.tbl_map(function(block)
    return { block }
  end, { ... })
  table.insert(turns, { { text = 'Done.' } })
  agent.record(unpack(turns))
  agent.options({ open_on_ask = false })
  agent.session():begin()
  agent.ask('x')
end

-- How often the user was warned.
local function warnings()
  return #vim.tbl_filter(function(entry)
    return entry.level == vim.log.levels.WARN
  end, agent.told)
end

local function result(tool)
  local event = agent.seen('tool_execution_end', 'toolName', tool)
  return event.result.content[1].text, event.isError
end

function tests.unsaved_changes_are_kept()
  visit('f.txt', 'a\nb\nc\n')
  api.nvim_buf_set_lines(0, 0, 1, true, { 'aX' })
  run(edit('f.txt', 'c', 'C'))
  equal({ lines(), vim.bo.modified }, { { 'aX', 'b', 'C' }, true })
  equal(suite.read('f.txt'), 'a\nb\nc\n')
  check(result('edit'):find('not saved', 1, true), result('edit'))
  vim.cmd('silent undo')
  equal(lines(), { 'aX', 'b', 'c' })
  vim.cmd('silent undo')
  equal(lines(), { 'a', 'b', 'c' })
end

-- A command changed the file under unsaved changes: told once, nothing is read or written.
function tests.both_changed_is_told_once()
  visit('f.txt', 'a\nb\nc\n')
  api.nvim_buf_set_lines(0, 0, 1, true, { 'aX' })
  local events = {}
  api.nvim_create_autocmd('User', {
    pattern = 'PiConflict',
    group = api.nvim_create_augroup('PiTest', { clear = true }),
    callback = function()
      table.insert(events, require('pi').data.reason)
    end,
  })
  run(bash('sed -i s/c/C/ f.txt'), bash('echo more >>f.txt'), edit('f.txt', 'b', 'B'))
  vim.cmd('checktime')
  equal({ lines(), vim.bo.modified, vim.b.pi_conflict }, { { 'aX', 'b', 'c' }, true, 'conflict' })
  equal(events, { 'conflict' })
  agent.was_told('f.txt is unsaved and changed on disk')
  equal(warnings(), 1)
  local text, failed = result('edit')
  check(failed and text:find('the user must save or reload it', 1, true), text)
  vim.cmd('Pi diff f.txt')
  local diff = table.concat(lines(), '\n')
  check(diff:find('-a\n+aX', 1, true) and diff:find('-C\n', 1, true), diff)
  vim.cmd('close | silent undo')
  equal(lines(), { 'a', 'b', 'c' })
end

-- No focus event, no :checktime: what the agent changed is there, with cursor and view.
function tests.clean_buffers_follow_the_disk()
  local text = {}
  for i = 1, 100 do
    text[i] = 'line ' .. i
  end
  visit('f.txt', table.concat(text, '\n') .. '\n')
  vim.fn.winrestview({ topline = 50, lnum = 55, col = 3 })
  run(bash('sed -i 1i\\\\NEW f.txt'))
  equal({ lines()[1], #lines(), vim.bo.modified }, { 'NEW', 101, false })
  local view = vim.fn.winsaveview()
  equal({ view.topline, view.lnum, view.col }, { 51, 56, 3 })
  vim.cmd('silent write')
  vim.cmd('silent undo')
  equal({ lines()[1], #lines() }, { 'line 1', 100 })
  equal(warnings(), 0)
end

-- Neovim warns of a change in a read-only buffer, and waits a second so that it is read.
function tests.read_only_buffers_follow_without_a_warning()
  visit('ro.txt', 'a\nb\n')
  vim.bo.readonly = true
  local warned = 0
  local watch = api.nvim_create_autocmd('FileChangedRO', {
    callback = function()
      warned = warned + 1
    end,
  })
  run(bash('echo c >> ro.txt'))
  api.nvim_del_autocmd(watch)
  equal({ lines(), vim.bo.readonly, vim.bo.modified }, { { 'a', 'b', 'c' }, true, false })
  equal(warned, 0)
end

function tests.deleted_renamed_and_new_files()
  local a = visit('a.txt', 'a\n')
  local b = visit('b.txt', 'b\n')
  run(
    bash('rm a.txt; mv b.txt c.txt; echo new >d.txt'),
    call('write', { path = 'e.txt', content = 'e\n' })
  )
  equal({ lines(a), lines(b) }, { { 'a' }, { 'b' } })
  equal({ vim.b[a].pi_conflict, vim.b[b].pi_conflict }, { 'deleted', 'deleted' })
  equal(warnings(), 2)
  for name, text in pairs({ ['c.txt'] = 'b', ['d.txt'] = 'new', ['e.txt'] = 'e' }) do
    vim.cmd('edit ' .. name)
    equal(lines(), { text })
  end
  -- Written anew, it is an ordinary file again.
  agent.told = {}
  run(call('write', { path = 'a.txt', content = 'A\n' }))
  equal({ lines(a), vim.b[a].pi_conflict, vim.bo[a].modified }, { { 'A' }, nil, false })
end

function tests.one_undo_step_for_each_edit()
  visit('f.txt', 'one\ntwo\nthree\n')
  run(edit('f.txt', 'one', '1'), edit('f.txt', 'two', '2'), edit('f.txt', 'three', '3'))
  local states = { { '1', '2', '3' }, { '1', '2', 'three' }, { '1', 'two', 'three' } }
  for _, state in ipairs(states) do
    equal(lines(), state)
    vim.cmd('silent undo')
  end
  equal(lines(), { 'one', 'two', 'three' })
  local session = agent.session()
  local buf = require('pi.render').buffer(session)
  equal(vim.bo[buf].undolevels, -1)
end

-- What the user takes back, and why, goes to the model with the next request.
function tests.the_model_is_told_what_was_taken_back()
  visit('f.txt', 'one\ntwo\n')
  agent.record({ edit('f.txt', 'two', '2') }, { { text = 'Done.' } }, {
    expect = { 'The user took back 1 change', 'because: I like words', '-2' },
    blocks = { { text = 'Sorry.' } },
  })
  agent.session():begin()
  agent.ask('x')
  vim.cmd('Pi reject! I like words')
  equal({ lines(), suite.read('f.txt') }, { { 'one', 'two' }, 'one\ntwo\n' })
  agent.ask('y')
  agent.shows('Sorry.')
end

function tests.the_model_is_told_what_was_undone()
  visit('f.txt', 'one\nmiddle\ntwo\n')
  local words = 'The user undid a change that you made in f.txt (line 3).'
  agent.record(
    { edit('f.txt', 'one', '1') },
    { edit('f.txt', 'two', '2') },
    { { text = 'Done.' } },
    { expect = words, blocks = { { text = 'I see.' } } }
  )
  agent.session():begin()
  agent.ask('x')
  vim.cmd('silent undo')
  agent.ask('y')
  agent.shows('I see.')
end

-- A file that the agent made is a change, too; taken back, it is gone.
function tests.new_files_can_be_taken_back()
  vim.cmd('enew')
  run(
    call('write', { path = 'new.txt', content = 'a\nb\n' }),
    call('write', { path = 'kept.txt', content = 'a\n' })
  )
  local path = vim.loop.fs_realpath('new.txt')
  equal(#require('pi.review').file(path).hunks, 1)
  vim.cmd('Pi diff new.txt')
  check(lines()[2]:find('not open', 1, true) and lines()[4] == '+a', vim.inspect(lines()))
  vim.cmd('Pi reject')
  vim.cmd('close')
  equal(vim.loop.fs_stat(path), nil)
  vim.cmd('edit kept.txt')
  equal(#require('pi.review').pending(require('pi.review').file(api.nvim_get_current_buf())), 1)
  vim.cmd('Pi accept')
end

function tests.review_can_be_switched()
  visit('f.txt', 'one\n')
  agent.record({ edit('f.txt', 'one', '1') }, { { text = 'Done.' } })
  agent.session():begin()
  agent.events = {}
  vim.cmd('Pi review before')
  vim.cmd('Pi x')
  agent.await('permission_request')
  vim.cmd('Pi allow')
  agent.await('agent_end')
  equal(lines(), { '1' })
end

local function proposed(buf)
  local space = api.nvim_get_namespaces()['pi-proposal']
  return #api.nvim_buf_get_extmarks(buf, space, 0, -1, {})
end

-- With review = 'before' each change is asked with its diff, whether its file is visible,
-- hidden or not open. Saving does not answer.
function tests.a_change_is_asked_wherever_it_is()
  local hidden = visit('hidden.txt', 'one\n')
  local visible = visit('visible.txt', 'one\n')
  suite.write('closed.txt', 'one\n')
  agent.record(
    { edit('visible.txt', 'one', '1') },
    { edit('hidden.txt', 'one', '1') },
    { edit('closed.txt', 'one', '1') },
    { edit('visible.txt', 'one', 'ONE') },
    { { text = 'Done.' } }
  )
  agent.options({ review = 'before' })
  agent.session():begin()
  agent.events = {}
  vim.cmd('Pi x')
  for _, name in ipairs({ 'visible.txt', 'hidden.txt', 'closed.txt' }) do
    local question = agent.await('permission_request')
    check(question.diff:find('-one\n+1', 1, true), question.diff)
    check(question.path:find(name, 1, true), question.path)
    local buf = ({ ['visible.txt'] = visible, ['hidden.txt'] = hidden })[name]
    if buf then
      equal({ proposed(buf) > 0, lines(buf) }, { true, { 'one' } })
      vim.cmd('silent wall')
    end
    agent.events = {}
    vim.cmd('Pi deny not now')
    agent.await('permission_end')
    local ended = agent.await('tool_execution_end')
    check(
      ended.isError and ended.result.content[1].text:find('not now', 1, true),
      vim.inspect(ended)
    )
    equal({ suite.read(name), buf and proposed(buf) }, { 'one\n', buf and 0 })
    agent.events = vim.tbl_filter(function(entry)
      return entry.event.type == 'permission_request'
    end, agent.events)
  end
  agent.await('permission_request')
  vim.cmd('Pi allow')
  agent.await('agent_end')
  equal({ lines(visible), suite.read('visible.txt'), proposed(visible) }, { { 'ONE' }, 'ONE\n', 0 })
end

function tests.a_large_diff_is_shown_at_once()
  local before, after = {}, {}
  for i = 1, 10000 do
    before[i], after[i] = 'line ' .. i, i % 2 == 0 and 'LINE ' .. i or 'line ' .. i
  end
  visit('f.txt', table.concat(before, '\n') .. '\n')
  run(call('write', { path = 'f.txt', content = table.concat(after, '\n') .. '\n' }))
  local file = require('pi.review').file(api.nvim_get_current_buf())
  local waiting = #require('pi.review').pending(file)
  check(waiting > 0 and waiting <= 300, waiting)
  vim.cmd('Pi diff')
  check(#lines() > 15000, #lines())
  agent.press('gg')
  agent.press(']c')
  agent.press('G')
  vim.cmd('close')
  vim.cmd('Pi accept!')
end

-- Before a command the user is asked once whether it should see his unsaved changes.
function tests.unsaved_files_before_a_command()
  visit('f.txt', 'one\n')
  agent.record({ bash('cat f.txt') }, { bash('cat f.txt; cat f.txt') }, { { text = 'Done.' } })
  agent.options({ bash_save = 'ask' })
  agent.session():begin()
  agent.events = {}
  api.nvim_buf_set_lines(0, 0, 1, true, { 'mine' })
  vim.cmd('Pi x')
  local q = agent.await('question').question
  check(q.lines[1]:find('save a file before a command runs: f.txt', 1, true), q.lines[1])
  equal(suite.read('f.txt'), 'one\n')
  vim.cmd('Pi allow')
  agent.await('agent_end')
  equal({ suite.read('f.txt'), vim.bo.modified }, { 'mine\n', false })
  check(result('bash'):find('mine', 1, true), result('bash'))
  -- The answer holds for the session.
  agent.events = {}
  api.nvim_buf_set_lines(0, 0, 1, true, { 'again' })
  equal(
    require('pi.save').before_command({ path = vim.fn.getcwd(), session = agent.session() }).status,
    'ok'
  )
  equal(suite.read('f.txt'), 'again\n')
end

-- A marked window shows where the agent is; the current one and its cursor stay.
function tests.follow_shows_and_never_takes_over()
  visit('mine.txt', 'my\ntext\n')
  suite.write('other.txt', 'a\nb\nc\nd\n')
  vim.cmd('split')
  vim.cmd('Pi follow on')
  local marked = api.nvim_get_current_win()
  vim.cmd('wincmd p')
  local current = api.nvim_get_current_win()
  api.nvim_win_set_cursor(0, { 2, 1 })
  run(call('read', { path = 'other.txt' }), edit('other.txt', 'd', 'D'))
  equal({ api.nvim_get_current_win(), api.nvim_win_get_cursor(0) }, { current, { 2, 1 } })
  equal(lines(api.nvim_win_get_buf(marked)), { 'a', 'b', 'c', 'D' })
  equal(api.nvim_win_get_cursor(marked)[1], 4)
  equal(vim.fn.bufloaded('other.txt'), 0)
  -- Not while the user is in it.
  api.nvim_set_current_win(marked)
  run(call('read', { path = 'mine.txt' }))
  equal(lines(api.nvim_win_get_buf(marked)), { 'a', 'b', 'c', 'D' })
  vim.cmd('Pi follow off')
end

agent.run()
