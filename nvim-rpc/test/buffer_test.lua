-- Files that are open in buffers. Neovim ends with an error when a test fails.

local buffer = require('pi.buffer')
local api = vim.api
local path = vim.loop.fs_realpath(vim.env.TMPDIR) .. '/file.txt'
local tests = {}

local function equal(got, wanted)
  if not vim.deep_equal(got, wanted) then
    error(('got %s, wanted %s'):format(vim.inspect(got), vim.inspect(wanted)), 2)
  end
end

local function write(bytes)
  local file = assert(io.open(path, 'wb'))
  file:write(bytes)
  file:close()
end

local function disk()
  local file = assert(io.open(path, 'rb'))
  local bytes = file:read('*a')
  file:close()
  return bytes
end

-- Lets the file look as if it was written in the future.
local function touch()
  local later = os.time() + 10
  vim.loop.fs_utime(path, later, later)
end

local function visit(bytes)
  write(bytes)
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
  touch()
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
  touch()
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

function tests.deleted()
  visit('one\n')
  os.remove(path)
  equal(serve('snapshot').status, 'conflict')
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

local failed = 0
for name, test in pairs(tests) do
  local ok, err = xpcall(test, debug.traceback)
  vim.cmd('silent! only! | silent! %bwipeout!')
  os.remove(path)
  io.write(ok and 'passed ' or 'FAILED ', name, ok and '' or '\n' .. tostring(err), '\n')
  failed = failed + (ok and 0 or 1)
end
vim.cmd(failed > 0 and 'cquit' or 'qall!')
