-- Files that are open in buffers: what the agent looks at and changes there. Each request
-- returns the answer for answer_host. Nothing here asks the user anything.
--
-- The text of a buffer is its lines with LF, whatever 'fileformat' says. Offsets are bytes
-- of it, and these are the bytes of the buffer.

local api = vim.api
local change = require('pi.change')
local disk = require('pi.disk')
local interrupt = require('pi.interrupt')
local uv = vim.uv or vim.loop
local M = {}

-- Beyond this a text is not handed over; pi-nvim refuses messages of 64 MiB.
local TEXT_MAX = 48 * 1024 * 1024

local function refuse(format, ...)
  return { status = 'conflict', message = format:format(...) }
end

-- The real path of a file that may not exist.
local function real_path(path)
  local found = uv.fs_realpath(path)
  local parent = vim.fn.fnamemodify(path, ':h')
  if found or parent == path then
    return found or path
  end
  return (real_path(parent) .. '/' .. vim.fn.fnamemodify(path, ':t')):gsub('^//', '/')
end

local function is_same_file(name, path, stat)
  if name == path then
    return true
  end
  local other = uv.fs_stat(name)
  if stat or other then
    return stat and other and stat.ino == other.ino and stat.dev == other.dev
  end
  return real_path(name) == path
end

-- The loaded buffer of a real path, or nil. A file can be in two of them, by two names; then
-- it is the one with changes, and if both have some the second comes, too; then all of them.
function M.find(path)
  local found = {}
  local stat = uv.fs_stat(path)
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_get_name(buf)
    local is_file = name ~= '' and api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ''
    if is_file and not name:find('^%a[%w+.-]*://') and is_same_file(name, path, stat) then
      table.insert(found, buf)
    end
  end
  table.sort(found, function(a, b)
    local a_changed, b_changed = vim.bo[a].modified, vim.bo[b].modified
    if a_changed ~= b_changed then
      return a_changed
    end
    return a < b
  end)
  local rival = found[2] and vim.bo[found[2]].modified and found[2] or nil
  return found[1], rival, found
end

local function give(buf)
  local text = change.text(buf)
  if #text > TEXT_MAX then
    return refuse('the buffer of %s is too large; close it first', change.name(buf))
  end
  return {
    status = 'ok',
    text = text,
    version = api.nvim_buf_get_changedtick(buf),
    unsaved = vim.bo[buf].modified,
  }
end

-- Whether the system would let us write. Root may always.
local function is_locked(buf)
  local name = api.nvim_buf_get_name(buf)
  return uv.fs_stat(name) ~= nil and vim.fn.filewritable(name) == 0
end

-- What only the user can solve, or nil.
local function obstacle(buf, state, rival)
  local name = change.name(buf)
  if rival then
    return refuse('%s is open in Neovim twice, with different unsaved changes', name)
  elseif state == 'conflict' then
    return refuse(
      '%s has unsaved changes in Neovim, and its file changed on disk, too; '
        .. 'the user must save or reload it',
      name
    )
  elseif state == 'deleted' then
    return refuse(
      '%s has unsaved changes in Neovim, and its file is gone; the user must save it',
      name
    )
  elseif vim.bo[buf].readonly or not vim.bo[buf].modifiable or is_locked(buf) then
    return refuse('%s is read-only in Neovim', name)
  end
end

local requests = {}

-- Whether a clean buffer has the text that the agent finds on the disk.
local function has_same_bytes(buf)
  local bo = vim.bo[buf]
  local utf8 = bo.fileencoding == '' or bo.fileencoding == 'utf-8'
  return utf8 and not bo.bomb and bo.fileformat == 'unix'
end

-- A clean buffer has nothing that the disk has not, as long as the text is the same in both.
function requests.read(file)
  local buf = file.buf
  if not vim.bo[buf].modified and has_same_bytes(buf) then
    return { status = 'not_open' }
  end
  return give(buf)
end

function requests.snapshot(file)
  return obstacle(file.buf, file.state, file.rival) or give(file.buf)
end

-- Where a line begins; Neovim has no offsets in an empty buffer.
local function offset_of(buf, row)
  return row == 0 and 0 or api.nvim_buf_get_offset(buf, row)
end

-- Row and column of a byte offset; buf is the current buffer.
local function position(buf, offset)
  local low, high = 0, api.nvim_buf_line_count(buf) - 1
  while low < high do
    local middle = math.floor((low + high + 1) / 2)
    if offset_of(buf, middle) <= offset then
      low = middle
    else
      high = middle - 1
    end
  end
  return low, offset - offset_of(buf, low)
end

-- The last change first, so that the offsets of the others still hold.
local function replace(buf, changes)
  for i = #changes, 1, -1 do
    local offset, length, text = unpack(changes[i])
    if vim.bo[buf].fileformat == 'dos' then
      text = text:gsub('\r\n', '\n')
    end
    local from_row, from_col = position(buf, offset)
    local to_row, to_col = position(buf, offset + length)
    local lines = vim.split(text, '\n', { plain = true })
    api.nvim_buf_set_text(buf, from_row, from_col, to_row, to_col, lines)
  end
end

-- The last line end of a file is not in the lines of its buffer. For changes that reach it
-- an empty line stands behind it meanwhile.
local function replace_at_end(buf, changes)
  if vim.bo[buf].endofline and not change.is_empty(buf) then
    api.nvim_buf_set_lines(buf, -1, -1, true, { '' })
  end
  replace(buf, changes)
  local ended = api.nvim_buf_get_lines(buf, -2, -1, true)[1] == ''
  if ended then
    api.nvim_buf_set_lines(buf, -2, -1, true, {}) -- of one empty line: the empty file
  end
  vim.bo[buf].endofline = ended
end

local function make(buf, changes)
  local last = changes[#changes]
  local lines = api.nvim_buf_line_count(buf)
  local length = offset_of(buf, lines - 1) + #api.nvim_buf_get_lines(buf, -2, -1, true)[1]
  if last and last[1] + last[2] >= length then
    replace_at_end(buf, changes)
  else
    replace(buf, changes)
  end
end

-- A character of the new text that the file cannot hold, or nil. Converted to the file's
-- encoding and back it is another one.
local function unfit_character(buf, changes)
  local encoding = vim.bo[buf].fileencoding
  if encoding == '' or encoding:find('^utf') then
    return nil
  end
  local function fits(text)
    local there = change.convert(text, 'utf-8', encoding)
    return there ~= nil and change.convert(there, encoding, 'utf-8') == text
  end
  for _, c in ipairs(changes) do
    local text = c[3]:gsub('%z', '')
    if text:find('[\128-\255]') and not fits(text) then
      for character in text:gmatch('[\1-\127\192-\255][\128-\191]*') do
        if not fits(character) then
          return character
        end
      end
      return '?'
    end
  end
end

-- Whether a change begins or ends inside a character.
local function splits_character(buf, changes)
  for _, c in ipairs(changes) do
    for _, offset in ipairs({ c[1], c[1] + c[2] }) do
      local row, col = position(buf, offset)
      local line = api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
      if col < #line and vim.str_utf_start(line, col + 1) ~= 0 then
        return true
      end
    end
  end
  return false
end

local function wrong_changes(buf, changes)
  local character = unfit_character(buf, changes)
  if character then
    return refuse(
      '%s is written as %s, which has no %q (U+%04X); nothing was changed. Use another '
        .. 'character, or let the user set another fileencoding',
      change.name(buf),
      vim.bo[buf].fileencoding,
      character,
      vim.fn.char2nr(character)
    )
  elseif splits_character(buf, changes) then
    return { status = 'invalid', message = 'a change begins inside a character' }
  end
end

-- What was saved is saved again; what the user had not saved stays so. Formatting on save
-- belongs to the same step of undo.
function requests.apply(file)
  local buf = file.buf
  local problem = obstacle(buf, file.state, file.rival)
  if problem then
    return problem
  elseif api.nvim_buf_get_changedtick(buf) ~= file.version then
    return { status = 'stale' }
  end
  problem = wrong_changes(buf, file.changes)
  if problem then
    return problem
  end
  local clean, before = not vim.bo[buf].modified, change.content(buf)
  local review = require('pi.review')
  local sent, failure
  review.before_change(buf)
  change.run(buf, function()
    make(buf, file.changes)
  end, clean and function()
    sent = change.text(buf)
    failure = require('pi.save').write(buf)
  end)
  if failure then
    local words = ('%s was not saved: %s'):format(change.name(buf), failure)
    require('pi.notify')(words, vim.log.levels.WARN)
  end
  review.changed(buf, before, change.content(buf))
  for _, other in ipairs(file.all) do
    pcall(disk.check, other) -- by another name
  end
  local text = clean and change.text(buf)
  return {
    status = 'ok',
    version = api.nvim_buf_get_changedtick(buf),
    unsaved = vim.bo[buf].modified,
    saved = clean and not failure,
    text = text ~= sent and text or nil, -- altered by what runs on writing
  }
end

-- Answers one request, or returns nil when it must be asked again a moment later.
local function answer(op, path, version, changes)
  local buf, rival, all = M.find(path)
  if not buf then
    return { status = op == 'apply' and 'stale' or 'not_open' }
  elseif change.must_wait(buf) then
    return nil
  end
  local state = disk.check(buf)
  if not state then
    return nil
  elseif state == 'deleted' and not vim.bo[buf].modified then
    -- What is gone has nothing unsaved here: the disk is the truth.
    return { status = op == 'apply' and 'stale' or 'not_open' }
  end
  local file = {
    buf = buf,
    rival = rival,
    all = all,
    state = state,
    version = version,
    changes = changes,
  }
  return requests[op](file)
end

local AGAIN_MS = 20

--- Serves a request of the agent: 'read', 'snapshot' or 'apply'. While text may not be
--- changed it returns nil and calls reply later.
---@param path string a real path
---@param reply nil|fun(answer: table)
---@param request nil|table its field `withdrawn` says that nobody waits any more
function M.serve(op, path, version, changes, reply, request)
  local ok, result = pcall(answer, op, path, version, changes)
  if not ok then
    result = { status = 'io', message = 'Neovim failed: ' .. tostring(result) }
  end
  if not result and reply then
    local again = interrupt.wrap(function()
      if request and request.withdrawn then
        return
      end
      local late = M.serve(op, path, version, changes, reply, request)
      if late then
        reply(late)
      end
    end)
    vim.defer_fn(again, AGAIN_MS)
  end
  return result
end

return M
