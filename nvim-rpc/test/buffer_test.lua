-- Files that are open in buffers.

local suite = dofile(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':h') .. '/suite.lua')
local buffer = require('pi.buffer')
local disk_side = require('pi.disk')
local api = vim.api
local path = suite.dir .. '/file.txt'
local tests, equal, check = suite.tests, suite.equal, suite.check

local function disk()
  return suite.read(path)
end

local times = 0

-- Another program writes the file; each time it looks a little later.
local function write(bytes)
  suite.write(path, bytes)
  times = times + 10
  vim.loop.fs_utime(path, os.time() + times, os.time() + times)
end

local function visit(bytes)
  suite.write(path, bytes)
  vim.cmd('edit ' .. path)
end

local function lines()
  return api.nvim_buf_get_lines(0, 0, -1, true)
end

local function serve(op, version, changes)
  return buffer.serve(op, path, version, changes)
end

-- Makes changes { offset, length, text } to a fresh snapshot.
local function apply(...)
  return serve('apply', serve('snapshot').version, { ... })
end

-- Visits a file of `before`, makes the changes and expects the file to be `after`.
local function changes_disk(before, after, ...)
  visit(before)
  equal(serve('snapshot').text, before)
  local answer = apply(...)
  equal({ answer.status, answer.saved, answer.unsaved, answer.text }, { 'ok', true, false })
  equal(disk(), after)
  equal(serve('snapshot').text, after)
  vim.cmd('bwipeout!')
end

function tests.not_open()
  equal(serve('read'), { status = 'not_open' })
  equal(serve('snapshot'), { status = 'not_open' })
  equal(serve('apply', 1, {}), { status = 'stale' })
end

function tests.clean()
  visit('one\ntwo\n')
  equal(serve('read'), { status = 'not_open' })
  vim.cmd('bwipeout!')
  changes_disk('one\ntwo\n', '1\n2\n', { 0, 3, '1' }, { 4, 3, '2' })
  changes_disk('äöü\nß\n', 'äOEü\nSS\n', { 2, 2, 'OE' }, { 7, 2, 'SS' })
end

-- The last line end is no part of a buffer's lines.
function tests.ends()
  changes_disk('a\nb\n', 'a\nb\nc\n', { 4, 0, 'c\n' })
  changes_disk('a\nb\n', 'a\nb\nc', { 4, 0, 'c' })
  changes_disk('a\nb\n', 'a\nbc\n', { 3, 0, 'c' })
  changes_disk('a\nb\n', 'a\n', { 2, 2, '' })
  changes_disk('a\nb\n', 'a', { 1, 3, '' })
  changes_disk('a\nb\n', 'a\nb', { 3, 1, '' })
  changes_disk('a\nb\n', '', { 0, 4, '' })
  changes_disk('a\nb\n', '\n', { 0, 3, '' })
  changes_disk('a\nb\n', 'A\nB\n', { 0, 1, 'A' }, { 2, 2, 'B\n' })
  changes_disk('a\nb\n', 'A\n', { 0, 2, 'A\n' }, { 2, 2, '' })
  changes_disk('a\nb', 'a\nb\n', { 3, 0, '\n' })
  changes_disk('a\nb', 'a\nbc', { 3, 0, 'c' })
  changes_disk('a\nb', 'a\n', { 2, 1, '' })
  changes_disk('', 'a\n', { 0, 0, 'a\n' })
  changes_disk('', 'a', { 0, 0, 'a' })
  changes_disk('\n', 'a\n', { 0, 0, 'a' })
  changes_disk('\n', '', { 0, 1, '' })
  changes_disk('a\n\n', 'a\n', { 2, 1, '' })
end

function tests.modified()
  visit('one\ntwo\n')
  api.nvim_buf_set_lines(0, -1, -1, true, { 'three' })
  local answer = serve('read')
  equal({ answer.text, answer.unsaved }, { 'one\ntwo\nthree\n', true })
  answer = apply({ 14, 0, 'four\n' })
  equal({ answer.status, answer.saved, answer.unsaved }, { 'ok', false, true })
  equal(lines(), { 'one', 'two', 'three', 'four' })
  equal(disk(), 'one\ntwo\n')
  vim.cmd('silent undo')
  equal(lines(), { 'one', 'two', 'three' })
end

function tests.stale()
  visit('one\n')
  local version = serve('snapshot').version
  api.nvim_buf_set_lines(0, -1, -1, true, { 'more' })
  equal(serve('apply', version, { { 0, 3, '1' } }), { status = 'stale' })
  equal(lines(), { 'one', 'more' })
end

-- Buffer and disk have both changed: only the user can decide, whenever it is asked.
function tests.both_changed()
  visit('one\n')
  api.nvim_buf_set_lines(0, -1, -1, true, { 'more' })
  local version = api.nvim_buf_get_changedtick(0)
  write('other\n')
  for _ = 1, 2 do
    equal(serve('read').text, 'one\nmore\n')
    equal(serve('snapshot').status, 'conflict')
    equal(serve('apply', version, { { 0, 3, '1' } }).status, 'conflict')
  end
  equal(lines(), { 'one', 'more' })
  equal(disk(), 'other\n')
  vim.cmd('silent edit!')
  equal(serve('snapshot').text, 'other\n')
end

function tests.disk_changed()
  visit('one\ntwo\n')
  write('one\nTWO\n')
  equal(serve('snapshot').text, 'one\nTWO\n')
  equal(apply({ 0, 3, '1' }).saved, true)
  equal(disk(), '1\nTWO\n')
end

-- Asking Neovim about the disk leaves its option as it was.
function tests.autoread()
  visit('one\n')
  for _, setting in ipairs({ 'autoread<', 'autoread', 'noautoread' }) do
    vim.cmd('setlocal ' .. setting)
    local before = vim.fn.eval('&l:autoread')
    serve('snapshot')
    equal(vim.fn.eval('&l:autoread'), before)
  end
end

-- What is gone from the disk is gone for the agent, unless something of it is unsaved.
function tests.deleted()
  visit('one\n')
  os.remove(path)
  equal(serve('snapshot').status, 'not_open')
  equal({ vim.b.pi_conflict, lines() }, { 'deleted', { 'one' } })
  equal(serve('read').status, 'not_open')
  write('new\n')
  equal(serve('snapshot').text, 'new\n')
  equal({ vim.b.pi_conflict, lines() }, { nil, { 'new' } })
  vim.cmd('silent undo')
  equal(lines(), { 'one' })
end

function tests.deleted_with_changes()
  visit('one\n')
  api.nvim_buf_set_lines(0, -1, -1, true, { 'mine' })
  os.remove(path)
  equal(serve('snapshot').status, 'conflict')
  equal(serve('read').text, 'one\nmine\n')
  vim.cmd('silent write')
  equal(vim.b.pi_conflict, nil)
  equal(apply({ 0, 3, '1' }).status, 'ok')
end

function tests.read_only()
  visit('one\n')
  vim.bo.readonly = true
  equal(serve('snapshot').status, 'conflict')
  vim.bo.readonly = false
  vim.bo.modifiable = false
  equal(serve('snapshot').status, 'conflict')
end

function tests.dos()
  visit('one\r\ntwo\r\n')
  equal(serve('read').text, 'one\ntwo\n')
  equal(apply({ 0, 3, '1\r\n1a' }).saved, true)
  equal(disk(), '1\r\n1a\r\ntwo\r\n')
end

function tests.other_encodings()
  visit('gr\252n\n')
  equal(vim.bo.fileencoding, 'latin1')
  equal(serve('read').text, 'grün\n')
  equal(apply({ 5, 0, 'é' }).saved, true)
  equal(disk(), 'gr\252n\233\n')
  vim.cmd('bwipeout!')
  visit('\239\187\191one\n')
  equal(serve('read').text, 'one\n')
  equal(apply({ 0, 3, '1' }).saved, true)
  equal(disk(), '\239\187\1911\n')
end

function tests.format_on_save()
  visit('one\n')
  vim.cmd('autocmd BufWritePre <buffer> %s/o/O/g')
  local answer = apply({ 0, 3, 'two' })
  equal({ answer.saved, answer.text }, { true, 'twO\n' })
  equal(disk(), 'twO\n')
end

-- Cursor, first line and marks stay with their text, in each window on the buffer.
function tests.views()
  local text = {}
  for i = 1, 100 do
    text[i] = 'line ' .. i
  end
  visit(table.concat(text, '\n') .. '\n')
  vim.cmd('split')
  local windows = vim.fn.win_findbuf(api.nvim_get_current_buf())
  equal(#windows, 2)
  for i, win in ipairs(windows) do
    api.nvim_win_call(win, function()
      vim.fn.winrestview({ topline = 40, lnum = 41 + i, col = 3 })
    end)
  end
  vim.cmd('50mark m')
  equal(apply({ 0, 6, 'two\nmore\nlines' }).status, 'ok')
  for i, win in ipairs(windows) do
    local view = api.nvim_win_call(win, vim.fn.winsaveview)
    equal({ view.topline, view.lnum, view.col }, { 42, 43 + i, 3 })
  end
  equal(vim.fn.line("'m"), 52)
end

-- A clean buffer follows its file: marks with their text, one step of undo, no question when
-- it is written.
function tests.follows_disk()
  visit('one\ntwo\nthree\nfour\n')
  local space = api.nvim_create_namespace('test')
  local mark = api.nvim_buf_set_extmark(0, space, 2, 0, {})
  vim.cmd('4mark m | 3,4fold')
  write('one\nnew\nnewer\ntwo\nthree\nfour\n')
  equal(disk_side.check(0), 'same')
  equal(lines(), { 'one', 'new', 'newer', 'two', 'three', 'four' })
  equal({ vim.bo.modified, vim.fn.line("'m"), vim.fn.foldclosed(5) }, { false, 6, 5 })
  equal(api.nvim_buf_get_extmark_by_id(0, space, mark, {}), { 4, 0 })
  vim.cmd('silent undo')
  equal({ lines(), vim.bo.modified }, { { 'one', 'two', 'three', 'four' }, true })
  vim.cmd('silent redo')
  equal({ #lines(), vim.bo.modified }, { 6, false })
  api.nvim_buf_set_lines(0, 0, 1, true, { 'ONE' })
  vim.cmd('silent write')
  equal(disk(), 'ONE\nnew\nnewer\ntwo\nthree\nfour\n')
end

-- Also where Neovim itself would forget all of undo.
function tests.follows_disk_with_undo()
  local text = ('line\n'):rep(200)
  vim.o.undoreload = 100
  visit(text)
  api.nvim_buf_set_lines(0, 0, 1, true, { 'mine' })
  vim.cmd('silent write')
  write('mine\n' .. text)
  equal(disk_side.check(0), 'same')
  equal({ #lines(), vim.o.undoreload }, { 201, 100 })
  vim.o.undoreload = 10000
  vim.cmd('silent undo')
  equal({ #lines(), lines()[1] }, { 200, 'mine' })
  vim.cmd('silent undo')
  equal(lines()[1], 'line')
end

-- Whatever its encoding and line ends.
function tests.follows_disk_in_its_encoding()
  local cases = {
    { 'a\r\nb\r\n', { 'a', 'b' }, 'a\r\nB\r\nc\r\n', { 'a', 'B', 'c' } },
    { 'gr\252n\n', { 'grün' }, 'gr\246n\nx', { 'grön', 'x' } },
    { '\239\187\191a\n', { 'a' }, '\239\187\191b\n', { 'b' } },
    { 'a\nb', { 'a', 'b' }, 'a\nc\n', { 'a', 'c' } },
  }
  for _, case in ipairs(cases) do
    local before, lines_before, after, lines_after = unpack(case)
    visit(before)
    write(after)
    equal(disk_side.check(0), 'same')
    equal({ lines(), vim.bo.modified }, { lines_after, false })
    vim.cmd('setlocal nofixendofline | silent write')
    equal(disk(), after)
    vim.cmd('silent undo')
    equal({ lines(), vim.bo.modified }, { lines_before, true })
    vim.cmd('bwipeout!')
  end
end

function tests.follows_an_emptied_file()
  visit('a\nb\n')
  write('')
  equal({ disk_side.check(0), lines(), vim.bo.modified }, { 'same', { '' }, false })
  vim.cmd('silent write')
  equal(disk(), '')
  vim.cmd('silent undo | silent undo')
  equal(lines(), { 'a', 'b' })
end

-- Only the mode, or the file behind the name, is another one.
function tests.follows_what_time_does_not_tell()
  visit('one\n')
  vim.loop.fs_chmod(path, 420 + 64)
  equal(disk_side.check(0), 'same')
  local stat = vim.loop.fs_stat(path)
  suite.write(path .. '.new', 'two\n')
  vim.loop.fs_rename(path .. '.new', path)
  vim.loop.fs_utime(path, stat.mtime.sec, stat.mtime.sec)
  equal(disk_side.check(0), 'same')
  equal({ lines(), vim.bo.modified }, { { 'two' }, false })
end

-- Once the user has taken back his side of a conflict, the buffer follows again.
function tests.conflict_solved_by_undo()
  visit('one\n')
  api.nvim_buf_set_lines(0, 0, 1, true, { 'mine' })
  write('theirs\n')
  equal(disk_side.check(0), 'conflict')
  vim.cmd('silent undo')
  equal({ disk_side.check(0), lines() }, { 'same', { 'theirs' } })
  api.nvim_buf_set_lines(0, -1, -1, true, { 'more' })
  vim.cmd('silent write')
  equal(disk(), 'theirs\nmore\n')
end

-- A file of two names is one buffer; where it is in two, the changed one counts.
function tests.two_names()
  visit('one\n')
  local link, hard = suite.dir .. '/link.txt', suite.dir .. '/hard.txt'
  os.remove(link)
  os.remove(hard)
  vim.loop.fs_link(path, hard)
  equal(buffer.find(hard), api.nvim_get_current_buf())
  local first, second = api.nvim_get_current_buf(), api.nvim_create_buf(true, false)
  api.nvim_buf_set_name(second, link)
  vim.loop.fs_symlink(path, link)
  api.nvim_buf_set_lines(second, 0, -1, true, { 'mine' })
  equal(buffer.find(path), second)
  equal(buffer.serve('read', path).text, 'mine\n')
  vim.cmd('silent edit!')
  api.nvim_buf_call(second, function()
    vim.cmd('silent edit!')
  end)
  equal(apply({ 0, 3, 'ONE' }).saved, true)
  equal(api.nvim_buf_get_lines(first, 0, -1, true), { 'ONE' })
  equal(api.nvim_buf_get_lines(second, 0, -1, true), { 'ONE' })
  api.nvim_buf_set_lines(second, 0, -1, true, { 'mine' })
  api.nvim_buf_set_lines(first, 0, -1, true, { 'other' })
  equal(serve('snapshot').status, 'conflict')
  os.remove(link)
  os.remove(hard)
end

-- The file does not exist yet, and a folder above is a link.
function tests.new_file_below_a_link()
  vim.fn.mkdir(suite.dir .. '/real')
  vim.loop.fs_symlink(suite.dir .. '/real', suite.dir .. '/alias')
  vim.cmd('edit ' .. suite.dir .. '/alias/new.txt')
  local new = suite.dir .. '/real/new.txt'
  local version = buffer.serve('snapshot', new).version
  equal(buffer.serve('apply', new, version, { { 0, 0, 'hi\n' } }).saved, true)
  equal(suite.read(new), 'hi\n')
end

-- Nothing is loaded to serve a request.
function tests.unloaded()
  visit('one\n')
  vim.cmd('enew | bunload! ' .. path)
  equal(serve('snapshot'), { status = 'not_open' })
  equal(vim.fn.bufloaded(path), 0)
end

function tests.unfit_character()
  visit('gr\252n\n')
  local answer = apply({ 0, 0, 'preis: 5 € ' })
  equal(answer.status, 'conflict')
  check(answer.message:find('"€" (U+20AC)', 1, true), answer.message)
  equal({ lines(), vim.bo.modified }, { { 'grün' }, false })
end

function tests.half_a_character()
  visit('grün\n')
  equal(apply({ 3, 1, 'x' }).status, 'invalid')
  equal(apply({ 0, 3, 'x' }).status, 'invalid')
  equal(lines(), { 'grün' })
end

-- Formatting on save and the change are one step of undo.
function tests.one_undo_with_formatting()
  visit('one\ntwo\n')
  vim.cmd('autocmd BufWritePre <buffer> %s/o/O/g')
  equal(apply({ 0, 3, 'foo' }).text, 'fOO\ntwO\n')
  vim.cmd('silent undo')
  equal(lines(), { 'one', 'two' })
end

function tests.cannot_save()
  visit('one\n')
  vim.cmd([[autocmd BufWritePre <buffer> throw 'no, thanks']])
  local answer = apply({ 0, 3, 'two' })
  equal({ answer.status, answer.saved, answer.unsaved }, { 'ok', false, true })
  equal({ lines(), disk() }, { { 'two' }, 'one\n' })
end

-- Marks of the last change and yank, registers and the search are the user's.
function tests.leaves_no_traces()
  visit('one\ntwo\nthree\n')
  vim.cmd('2yank')
  vim.fn.setreg('/', 'thr')
  local function state()
    return {
      vim.fn.getpos("'["),
      vim.fn.getpos("']"),
      vim.fn.getreg('"'),
      vim.fn.getreg('/'),
      #vim.fn.getjumplist()[1],
      vim.fn.getcwd(),
    }
  end
  local before = state()
  equal(apply({ 8, 5, '3' }).saved, true)
  equal(state(), before)
end

suite.run()
