-- Hunks that wait for the user: where they are, how they look, what accept and reject do.

local suite = dofile(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':h') .. '/suite.lua')
local buffer, review = require('pi.buffer'), require('pi.review')
local api = vim.api
local tests, equal, check = suite.tests, suite.equal, suite.check
local path = suite.dir .. '/file.txt'

-- What goes to the model and to the user.
local notes, told = {}, {}
local session = {
  cwd = suite.dir,
  connection = true,
  notify = function(_, method, params)
    table.insert(notes, { method, params.text })
  end,
}
require('pi.session').all = function()
  return { session }
end
package.loaded['pi.notify'] = function(text)
  table.insert(told, text)
end

local function lines()
  return api.nvim_buf_get_lines(0, 0, -1, true)
end

local function numbers(n)
  local list = {}
  for i = 1, n do
    list[i] = 'line ' .. i
  end
  return list
end

local function visit(list, name)
  notes, told = {}, {}
  review.forget()
  suite.write(name or path, table.concat(list, '\n') .. '\n')
  vim.cmd('edit! ' .. (name or path))
end

-- The agent makes the buffer have these lines.
local function agent(list, name)
  local change = require('pi.change')
  local file = name or path
  local buf = buffer.find(file)
  local before = change.text(buf)
  local changes, offset, parts = {}, 0, vim.split(before, '\n', { plain = true })
  local starts = {}
  for i, line in ipairs(parts) do
    starts[i] = offset
    offset = offset + #line + 1
  end
  table.remove(parts)
  for _, d in ipairs(change.diff(parts, list)) do
    local first = d[2] > 0 and d[1] or d[1] + 1
    local new = d[4] > 0 and table.concat(vim.list_slice(list, d[3], d[3] + d[4] - 1), '\n') .. '\n'
      or ''
    table.insert(changes, { starts[first], starts[first + d[2]] - starts[first], new })
  end
  local version = buffer.serve('snapshot', file).version
  local answer = buffer.serve('apply', file, version, changes)
  equal({ answer.status, answer.message }, { 'ok' })
end

local function pi(command)
  vim.cmd('Pi ' .. command)
end

-- The hunks that wait, short.
local function pending(name)
  local file = review.file(name or path)
  return vim.tbl_map(function(h)
    return { h.row + 1, h.count, #h.old }
  end, file and review.pending(file) or {})
end

-- The signs of the current buffer, as "line sign", and the lines that are shown as gone.
local function shown()
  local signs, gone = {}, {}
  local space = api.nvim_get_namespaces()['pi-signs']
  for _, mark in ipairs(api.nvim_buf_get_extmarks(0, space, 0, -1, { details = true })) do
    local details = mark[4]
    if details.sign_text then
      table.insert(signs, (mark[2] + 1) .. vim.trim(details.sign_text))
    end
    for _, line in ipairs(details.virt_lines or {}) do
      table.insert(gone, vim.trim(line[1][1]))
    end
  end
  return signs, gone
end

local function edited()
  local list = numbers(12)
  list[3] = 'THREE'
  table.insert(list, 6, 'new')
  table.remove(list, 11)
  return list
end

function tests.hunks_of_a_change()
  vim.g.pi = { signs = 'text' }
  visit(numbers(12))
  agent(edited())
  equal(pending(), { { 3, 1, 1 }, { 6, 1, 0 }, { 11, 0, 1 } })
  local signs, gone = shown()
  if vim.fn.has('nvim-0.8') == 1 then -- before, marks do not tell of their signs
    equal(signs, { '3~', '6+', '11-' })
  end
  equal(gone, { '- line 3', '- line 10' })
  pi('removed')
  local _, none = shown()
  equal(none, {})
  pi('removed')
end

-- Hunks stay with their text, whatever is typed around them.
function tests.hunks_move()
  visit(numbers(12))
  agent(edited())
  api.nvim_buf_set_lines(0, 0, 0, true, { 'mine', 'mine' })
  api.nvim_buf_set_lines(0, 6, 7, true, {})
  equal(pending(), { { 5, 1, 1 }, { 7, 1, 0 }, { 12, 0, 1 } })
end

-- Changes of the user are none of the agent's, and those of the agent that meet are one.
function tests.later_changes()
  visit(numbers(12))
  agent(edited())
  api.nvim_buf_set_lines(0, 8, 9, true, { 'my own' })
  equal(#pending(), 3)
  local list = lines()
  list[4] = 'FOUR'
  agent(list)
  equal(pending(), { { 3, 2, 2 }, { 6, 1, 0 }, { 11, 0, 1 } })
  list[3], list[4] = 'line 3', 'line 4'
  agent(list)
  equal(pending(), { { 6, 1, 0 }, { 11, 0, 1 } })
end

function tests.undo_and_redo()
  visit(numbers(12))
  agent(edited())
  vim.cmd('silent undo')
  equal({ pending(), lines() }, { {}, numbers(12) })
  vim.cmd('silent redo')
  equal(pending(), { { 3, 1, 1 }, { 6, 1, 0 }, { 11, 0, 1 } })
end

function tests.accept()
  visit(numbers(12))
  agent(edited())
  api.nvim_win_set_cursor(0, { 3, 0 })
  pi('accept')
  equal(pending(), { { 6, 1, 0 }, { 11, 0, 1 } })
  equal(lines(), edited())
  vim.cmd('1,12Pi accept')
  equal(pending(), {})
  equal(shown(), {})
  equal(told[#told], 'accepted 2 changes, none is left')
  equal(notes, {})
end

-- What was there comes back as one step of undo, is saved, and the model is told.
function tests.reject()
  visit(numbers(12))
  agent(edited())
  api.nvim_win_set_cursor(0, { 3, 0 })
  pi('reject it was right')
  equal(lines()[3], 'line 3')
  equal(pending(), { { 6, 1, 0 }, { 11, 0, 1 } })
  equal(vim.bo.modified, false)
  equal(notes[1][1], 'add_note')
  for _, words in ipairs({ 'took back 1 change', 'because: it was right', '-THREE', '+line 3' }) do
    check(notes[1][2]:find(words, 1, true), notes[1][2])
  end
  vim.cmd('silent undo')
  equal(lines(), edited())
  equal(#pending(), 3)
end

function tests.reject_all()
  visit(numbers(12))
  agent(edited())
  api.nvim_buf_set_lines(0, 0, 1, true, { 'mine' })
  vim.cmd('Pi reject!')
  local wanted = numbers(12)
  wanted[1] = 'mine'
  equal({ lines(), pending(), vim.bo.modified }, { wanted, {}, true })
  vim.cmd('silent undo')
  local before = edited()
  before[1] = 'mine'
  equal(lines(), before)
end

-- Lines at both ends, and everything.
function tests.ends()
  local cases = {
    { { 'a', 'b', 'c' }, { 'b', 'c' } },
    { { 'a', 'b', 'c' }, { 'a', 'b' } },
    { { 'a', 'b', 'c' }, { 'x', 'a', 'b', 'c', 'y' } },
    { { 'a', 'b', 'c' }, { 'q' } },
    { { 'a', '', '', 'b' }, { 'a', '', 'b' } },
  }
  for i, case in ipairs(cases) do
    visit(case[1])
    agent(case[2])
    check(#pending() > 0, 'no hunk in case ' .. i)
    vim.cmd('Pi reject!')
    equal({ i, lines() }, { i, case[1] })
    vim.cmd('bwipeout!')
  end
end

-- The keys are there while there is something to go to, and never instead of the user's.
function tests.keys()
  visit(numbers(12))
  equal(vim.fn.maparg(']c', 'n'), '')
  agent(edited())
  api.nvim_win_set_cursor(0, { 1, 0 })
  for _, line in ipairs({ 3, 6, 11 }) do
    api.nvim_feedkeys(']c', 'mx', false)
    equal(api.nvim_win_get_cursor(0)[1], line)
  end
  api.nvim_feedkeys('2[c', 'mx', false)
  equal(api.nvim_win_get_cursor(0)[1], 3)
  pi('accept!')
  equal(vim.fn.maparg(']c', 'n'), '')
  vim.cmd('nnoremap ]c :echo 1<CR>')
  agent(numbers(12))
  equal(vim.fn.maparg(']c', 'n'), ':echo 1<CR>')
  vim.cmd('nunmap ]c')
end

function tests.quickfix()
  visit(numbers(12))
  agent(edited())
  api.nvim_win_set_cursor(0, { 3, 0 })
  pi('accept')
  pi('edits')
  local list = vim.tbl_map(function(item)
    return { item.lnum, item.text }
  end, vim.fn.getqflist())
  equal(list, { { 3, '(accepted) +1 -1  THREE' }, { 6, '+1 -0  new' }, { 11, '+0 -1  line 10' } })
  equal(#api.nvim_list_wins(), 1)
end

-- With nothing to list the list of the user stays, and one of before is emptied.
function tests.quickfix_without_changes()
  visit(numbers(12))
  vim.fn.setqflist({}, ' ', { title = 'mine', items = { { text = 'x' } } })
  pi('edits')
  equal(vim.fn.getqflist({ title = 0 }).title, 'mine')
  agent(edited())
  pi('edits')
  vim.cmd('Pi reject!')
  told = {}
  pi('edits')
  equal(told, { 'there are no changes' })
  equal(vim.fn.getqflist(), {})
  vim.cmd('silent colder')
  equal(vim.fn.getqflist({ title = 0 }).title, 'mine')
end

-- The maps take a count.
function tests.counts()
  visit(numbers(12))
  agent(edited())
  api.nvim_win_set_cursor(0, { 1, 0 })
  local function press(count, name)
    local keys = api.nvim_replace_termcodes(count .. name, true, true, true)
    api.nvim_feedkeys(keys, 'mx', false)
    return api.nvim_win_get_cursor(0)[1]
  end
  equal(press(3, '<Plug>(pi-next-hunk)'), 11)
  equal(press(2, '<Plug>(pi-prev-hunk)'), 3)
end

-- A window with all hunks, where each can be answered.
function tests.diff()
  visit(numbers(12))
  agent(edited())
  pi('diff')
  local diff = lines()
  check(diff[1]:find('^%-%-%- .*file.txt  before$'), diff[1])
  equal(
    vim.list_slice(diff, 3, 8),
    { '@@ -1,6 +1,6 @@', ' line 1', ' line 2', '-line 3', '+THREE', ' line 4' }
  )
  equal(api.nvim_win_get_cursor(0)[1], 3)
  api.nvim_feedkeys('ga', 'mx', false)
  equal(#pending(), 2)
  api.nvim_feedkeys('gd', 'mx', false)
  equal(#pending(), 1)
  check(table.concat(lines(), '\n'):find('-line 10', 1, true), vim.inspect(lines()))
  vim.cmd('close')
  equal(#lines(), 11)
end

-- A file that was changed on disk while it was not open: its hunks wait for it.
function tests.not_open()
  notes = {}
  review.forget()
  suite.write(path, table.concat(edited(), '\n') .. '\n')
  local diff = ((vim.text and vim.text.diff) or vim.diff)(
    table.concat(numbers(12), '\n') .. '\n',
    table.concat(edited(), '\n') .. '\n',
    { ctxlen = 3 }
  )
  review.changed_on_disk(path, '--- file.txt\n+++ file.txt\n' .. diff)
  equal(pending(), { { 3, 1, 1 }, { 6, 1, 0 }, { 11, 0, 1 } })
  vim.cmd('enew')
  pi('diff ' .. path)
  check(lines()[2]:find('not open', 1, true), lines()[2])
  equal(vim.fn.bufloaded(path), 0)
  pi('reject')
  vim.cmd('close')
  local wanted = edited()
  wanted[3] = 'line 3'
  equal(suite.read(path), table.concat(wanted, '\n') .. '\n')
  vim.cmd('edit ' .. path)
  equal(pending(), { { 6, 1, 0 }, { 11, 0, 1 } })
end

-- Of a file with CRLF.
function tests.not_open_with_crlf()
  review.forget()
  suite.write(path, 'one\r\nTWO\r\nthree\r\n')
  local patch = '--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\r\n-two\r\n+TWO\r\n three\r\n'
  review.changed_on_disk(path, patch)
  vim.cmd('enew')
  vim.cmd('Pi reject!')
  equal(suite.read(path), 'one\r\ntwo\r\nthree\r\n')
end

-- Closed without saving and opened again: what is still in the file is found by its text.
function tests.opened_again()
  visit(numbers(12))
  agent(edited())
  vim.cmd('enew | bunload ' .. path)
  local list = edited()
  table.insert(list, 1, 'by others')
  suite.write(path, table.concat(list, '\n') .. '\n')
  vim.cmd('edit ' .. path)
  equal(pending(), { { 4, 1, 1 }, { 7, 1, 0 }, { 12, 0, 1 } })
  vim.cmd('silent edit!')
  equal(#pending(), 3)
end

-- The last change of the agent, if nothing came after it.
function tests.undo_command()
  visit(numbers(3))
  agent({ 'line 1', 'TWO', 'line 3' })
  agent({ 'line 1', 'TWO', 'THREE' })
  pi('undo')
  equal({ lines(), pending() }, { { 'line 1', 'TWO', 'line 3' }, { { 2, 1, 1 } } })
  check(notes[1][2]:find('-THREE', 1, true), notes[1][2])
  api.nvim_buf_set_lines(0, 0, 1, true, { 'mine' })
  pi('undo')
  check(told[#told]:find('was changed since', 1, true), told[#told])
  equal(lines(), { 'mine', 'TWO', 'line 3' })
end

-- What a command did to an open file can be reviewed, too.
function tests.by_a_command()
  visit(numbers(4))
  suite.write(path, 'line 1\nTWO\nline 3\nline 4\n')
  vim.loop.fs_utime(path, os.time() + 60, os.time() + 60)
  require('pi.bus').emit({ type = 'tool_execution_end', toolName = 'bash', result = {} }, session)
  equal(pending(), { { 2, 1, 1 } })
end

-- Lines of the agent and of the user in one text. `base` is what is to be left when all that
-- the agent did is taken back; each line of `now` that is in it knows its place there.
local function random_work(random, steps)
  local base, now, count = {}, {}, 0
  local function fresh(who)
    count = count + 1
    return who .. ' ' .. count
  end
  for i = 1, 15 do
    base[i] = { fresh('line') }
    now[i] = base[i]
  end
  local function texts(list)
    return vim.tbl_map(function(line)
      return line[1]
    end, list)
  end
  visit(texts(base))
  for _ = 1, steps do
    local i = random(#now)
    if random(3) == 1 then
      if vim.tbl_contains(base, now[i]) then -- the user changes what is his
        now[i][1] = fresh('user')
        api.nvim_buf_set_lines(0, i - 1, i, true, { now[i][1] })
      end
    else
      for _ = 1, math.min(random(3) - 1, #now - 1) do
        table.remove(now, math.min(i, #now))
      end
      for _ = 1, random(3) - 1 do
        table.insert(now, math.min(i, #now + 1), { fresh('agent') })
      end
      agent(texts(now))
    end
    equal(lines(), texts(now))
    pending()
  end
  return texts(base)
end

function tests.what_is_left_is_the_users()
  local seed = tonumber(vim.env.PI_TEST_SEED) or 1
  math.randomseed(seed)
  for round = 1, 30 do
    local left = random_work(math.random, 12)
    vim.cmd('Pi reject!')
    equal({ seed, round, lines(), pending() }, { seed, round, left, {} })
    vim.cmd('bwipeout!')
  end
end

-- Whether a line belongs to a hunk that waits.
local function in_hunk(row)
  for _, h in ipairs(pending()) do
    if row >= h[1] and row < h[1] + h[2] then
      return true
    end
  end
  return false
end

local function users(list)
  return vim.tbl_filter(function(line)
    return line:find('^user')
  end, list)
end

-- With undo and redo in between: no line of the user goes when all is taken back.
function tests.nothing_of_the_user_goes()
  local seed = tonumber(vim.env.PI_TEST_SEED) or 1
  math.randomseed(seed)
  for round = 1, 20 do
    visit(numbers(12))
    for step = 1, 14 do
      local now, kind = lines(), math.random(6)
      local i = math.random(#now)
      if kind <= 2 then
        table.remove(now, #now > 3 and not now[i]:find('^user') and i or #now + 1)
        table.insert(now, math.min(i, #now + 1), ('agent %d'):format(step))
        agent(now)
      elseif kind <= 4 and not in_hunk(i) then
        api.nvim_buf_set_lines(0, i - 1, i, true, { ('user %d'):format(step) })
        vim.cmd('let &undolevels = &undolevels')
      elseif kind == 5 then
        vim.cmd('silent undo')
      elseif kind == 6 then
        vim.cmd('silent redo')
      end
      pending()
    end
    local before = lines()
    vim.cmd(#pending() > 0 and 'Pi reject!' or '')
    equal({ seed, round, users(lines()), pending() }, { seed, round, users(before), {} })
    vim.cmd('bwipeout!')
  end
end

suite.run()
