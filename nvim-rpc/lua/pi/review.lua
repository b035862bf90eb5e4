-- What the agent changed, until the user has accepted or rejected it. Hunks of open files are
-- held by marks in their buffers; those of other files wait for theirs to be opened.

local api = vim.api
local bus = require('pi.bus')
local change = require('pi.change')
local hunks = require('pi.hunks')
local signs = require('pi.signs')
local uv = vim.uv or vim.loop
local M = {}

local anchors = api.nvim_create_namespace('pi-review')
local group = api.nvim_create_augroup('PiReview', { clear = true })

local files = {} -- real path -> file
local by_buf = {} -- buffer -> file

---@class pi.ReviewedFile
---@field path string
---@field buf number|nil
---@field hunks pi.Hunk[] those that wait, in the order of the text
---@field accepted pi.Hunk[]
---@field states table<number, table> state of undo -> the hunks in it
---@field lost pi.Hunk[] undone, and not of the state that was come back to

local function file_of_path(path)
  files[path] = files[path] or { path = path, hunks = {}, accepted = {}, states = {}, lost = {} }
  return files[path]
end

-- A new file up to here can be reviewed.
local CREATED_MAX = 256 * 1024

-- How soon after the last key the hunks are drawn anew.
local QUIET_MS = 60

-- Puts a hunk at a row of a buffer.
local function anchor(buf, h, row, count)
  local last = api.nvim_buf_line_count(buf)
  row = math.min(row, last)
  h.row, h.count = row, math.min(count, last - row)
  h.id = api.nvim_buf_set_extmark(buf, anchors, h.row, 0, {
    id = h.id,
    end_row = h.row + h.count,
    end_col = 0,
    end_right_gravity = false,
  })
end

-- Where the marks say that a hunk is now: first row and the one behind it. Where lines are gone
-- its place is empty, and a change beside it parts its marks: then what is around tells.
local function marked(buf, lines, h)
  local pos = api.nvim_buf_get_extmark_by_id(buf, anchors, h.id, { details = true })
  if not pos[1] then
    return h.row, h.row + h.count
  end
  local from, to = pos[1], pos[3].end_row or pos[1]
  if from > to then
    from = h.count == 0 and hunks.best_gap(lines, h, to, from) or to
    to = from
  end
  return from, to
end

-- The row at which the text of a hunk stands now, as it is or undone; nil if it was edited.
local function find_text(lines, h, from, to)
  for _, row in ipairs({ from, to - #h.new }) do
    if row >= 0 and hunks.stands(lines, h, row) and (#h.new > 0 or from == to) then
      return row, false
    end
  end
  for _, row in ipairs({ from, to - #h.old, from - #h.old }) do
    if row >= 0 and hunks.undone(lines, h, row) and (#h.old > 0 or from == to) then
      return row, true
    end
  end
  local row = #h.new > 0 and hunks.locate(lines, h, h.new, from)
  if row then
    return row, false
  end
end

-- Brings one hunk up to date.
local function settle_hunk(buf, lines, h)
  local from, to = marked(buf, lines, h)
  local row, undone = find_text(lines, h, from, to)
  local count = row and (undone and #h.old or #h.new)
  if row then
    h.undone = undone
  else
    row, count = from, to - from
    h.undone = #h.old == 0 and count == 0
  end
  anchor(buf, h, row, count)
  hunks.look_around(lines, h)
end

local function in_order(file)
  table.sort(file.hunks, function(a, b)
    return a.row < b.row
  end)
end

-- By undo and redo the text comes back to where the agent left it, and then so do the hunks.
local function remember(file)
  file.states[change.state(file.buf)] = vim.tbl_map(function(h)
    return { h, h.row, h.count, h.undone or false, h.above, h.below }
  end, file.hunks)
end

local function recall(file, lines)
  local list = file.states[change.state(file.buf)]
  for _, entry in ipairs(list or {}) do
    local h, row, _, undone, above, below = unpack(entry)
    local then_ = { new = h.new, above = above, below = below }
    if not undone and not hunks.stands(lines, then_, row) then
      return false
    end
  end
  if not list then
    return false
  end
  api.nvim_buf_clear_namespace(file.buf, anchors, 0, -1)
  local before = vim.list_extend(file.hunks, file.lost)
  file.hunks = {}
  for _, entry in ipairs(list) do
    local h, row, count, undone, above, below = unpack(entry)
    h.above, h.below = above, below
    h.id, h.undone, h.told = nil, undone, undone and h.told
    anchor(file.buf, h, row, count)
    table.insert(file.hunks, h)
  end
  file.lost = vim.tbl_filter(function(h)
    return not vim.tbl_contains(file.hunks, h)
  end, before)
  return true
end

-- Brings the hunks of a buffer up to date with its text: they moved, were edited or undone.
local function settle(file)
  local tick = api.nvim_buf_get_changedtick(file.buf)
  if file.tick == tick then
    return
  end
  file.tick = tick
  if #file.hunks == 0 and not next(file.states) then
    return
  end
  local lines = change.lines(file.buf)
  if recall(file, lines) then
    return
  end
  for _, h in ipairs(file.hunks) do
    settle_hunk(file.buf, lines, h)
  end
  in_order(file)
end

local function draw(file)
  if file.buf then
    signs.draw(file.buf, M.pending(file))
  end
end

--- The hunks of a file that wait, in the order of the text. An undone one does not, but may
--- come back by redo.
---@param file pi.ReviewedFile
---@return pi.Hunk[]
function M.pending(file)
  if file.buf then
    settle(file)
  end
  return vim.tbl_filter(function(h)
    return not h.undone
  end, file.hunks)
end

-- The user changed the text. Drawing waits until he pauses.
local function on_text_changed(args)
  local file = by_buf[args.buf]
  if not file then
    return
  end
  file.edits = (file.edits or 0) + 1
  local edits = file.edits
  vim.defer_fn(function()
    if file.edits == edits and file.buf and api.nvim_buf_is_loaded(file.buf) then
      draw(file)
    end
  end, QUIET_MS)
end

-- A hunk that waited for its buffer is found by its text, or is no more.
local function attach_hunk(buf, lines, h)
  local row = #h.new + #h.old > 0 and hunks.locate(lines, h, h.new, h.row)
  if row then
    anchor(buf, h, row, #h.new)
  end
  return row ~= nil and row ~= false
end

-- The lines of a buffer of that format end without CR.
local function without_cr(h)
  for _, field in ipairs({ 'new', 'old', 'above', 'below' }) do
    h[field] = vim.tbl_map(function(line)
      return (line:gsub('\r$', ''))
    end, h[field])
  end
end

local function attach(file, buf)
  file.buf, file.tick, file.states, file.lost = buf, nil, {}, {}
  by_buf[buf] = file
  local lines = change.lines(buf)
  file.hunks = vim.tbl_filter(function(h)
    h.id = nil
    if vim.bo[buf].fileformat == 'dos' then
      without_cr(h)
    end
    return attach_hunk(buf, lines, h)
  end, file.hunks)
end

-- The buffer goes; the rows help to find the hunks again.
local function detach(buf)
  local file = by_buf[buf]
  if file then
    pcall(settle, file)
    by_buf[buf], file.buf, file.tick = nil, nil, nil
    signs.forget(buf)
  end
end

api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'TextChangedP' }, {
  group = group,
  callback = on_text_changed,
})
api.nvim_create_autocmd({ 'BufUnload', 'BufFilePost' }, {
  group = group,
  callback = function(args)
    detach(args.buf)
  end,
})
api.nvim_create_autocmd({ 'BufReadPost', 'BufFilePost' }, {
  group = group,
  callback = function(args)
    local path = uv.fs_realpath(api.nvim_buf_get_name(args.buf))
    local file = path and files[path]
    if not file or file.buf == args.buf then
      on_text_changed(args) -- read again in the same buffer, with its marks
    elseif not file.buf and vim.bo[args.buf].buftype == '' then
      attach(file, args.buf)
      draw(file)
    end
  end,
})

-- The file of a buffer, made when needed.
local function file_of_buffer(buf)
  if not by_buf[buf] then
    local name = api.nvim_buf_get_name(buf)
    attach(file_of_path(uv.fs_realpath(name) or name), buf)
  end
  return by_buf[buf]
end

-- The agent's change must not fail for what is only shown.
local function guarded(fn)
  return function(...)
    local ok, err = pcall(fn, ...)
    if not ok then
      require('pi.notify')('the review failed: ' .. tostring(err), vim.log.levels.ERROR)
    end
  end
end

--- The text of a buffer is about to be changed: the hunks must know where they are.
M.before_change = guarded(function(buf)
  local file = by_buf[buf]
  if file then
    settle(file)
    remember(file)
  end
end)

-- What the agent changed, one after the other: { path, buf, seq }; seq is the state of undo
-- after it, buf is nil where the file was not open.
M.history = {}

--- Draws the hunks of a buffer again.
function M.redraw(buf)
  if by_buf[buf] then
    draw(by_buf[buf])
  end
end

--- The agent changed a buffer from these lines to those.
M.changed = guarded(function(buf, before, after)
  local file = file_of_buffer(buf)
  local known = vim.tbl_filter(function(h)
    return not h.undone
  end, file.hunks)
  local kept, new = hunks.merge(known, before, after)
  local list = {}
  for _, entry in ipairs(kept) do
    anchor(buf, entry[1], entry[2], entry[1].count)
    hunks.look_around(after, entry[1])
    table.insert(list, entry[1])
  end
  for _, h in ipairs(file.hunks) do
    if not vim.tbl_contains(list, h) then
      pcall(api.nvim_buf_del_extmark, buf, anchors, h.id)
    end
  end
  for _, h in ipairs(new) do
    anchor(buf, h, h.row, #h.new)
    table.insert(list, h)
  end
  file.hunks, file.tick = list, api.nvim_buf_get_changedtick(buf)
  in_order(file)
  remember(file)
  table.insert(M.history, { buf = buf, path = file.path, seq = change.state(buf) })
  draw(file)
  bus.user('PiEditApplied', { buf = buf, file = file.path, hunks = #new, tick = file.tick })
end)

--- The agent changed a file that is not open; patch is a unified diff.
function M.changed_on_disk(path, patch)
  local file = file_of_path(path)
  for _, h in ipairs(hunks.parse(patch)) do
    h.count = #h.new
    table.insert(file.hunks, h)
  end
  table.insert(M.history, { path = path })
end

--- The file of a path or a buffer if the agent changed it.
---@return pi.ReviewedFile|nil
function M.file(path_or_buf)
  return by_buf[path_or_buf] or files[path_or_buf]
end

--- All files with hunks that wait, by name; with all, also those that are done.
---@return pi.ReviewedFile[]
function M.files(all)
  local list = vim.tbl_filter(function(file)
    return #M.pending(file) > 0 or all and #file.accepted > 0
  end, vim.tbl_values(files))
  table.sort(list, function(a, b)
    return a.path < b.path
  end)
  return list
end

--- The hunks that were undone in their buffers and that nobody was told of: { path, hunk }.
function M.undone()
  local list = {}
  for _, file in pairs(files) do
    local pending = file.buf and M.pending(file) and file.hunks or {}
    for _, h in ipairs(vim.list_extend(vim.list_slice(pending), file.lost)) do
      if (h.undone or vim.tbl_contains(file.lost, h)) and not h.told then
        table.insert(list, { path = file.path, hunk = h })
      end
    end
  end
  return list
end

local function remove(file, h)
  if file.buf and h.id then
    pcall(api.nvim_buf_del_extmark, file.buf, anchors, h.id)
  end
  file.hunks = vim.tbl_filter(function(other)
    return other ~= h
  end, file.hunks)
end

--- The hunks are good.
function M.accept(file, list)
  for _, h in ipairs(list) do
    remove(file, h)
    table.insert(file.accepted, h)
  end
  file.states, file.lost = {}, {}
  draw(file)
end

--- Puts back what stood in the place of the hunks, as one step of undo. The file must be
--- open. What was saved is saved again; returns why not if that failed.
function M.reject(file, list)
  local buf = file.buf
  M.before_change(buf)
  local clean, failure = not vim.bo[buf].modified, nil
  table.sort(list, function(a, b)
    return a.row > b.row
  end)
  change.run(buf, function()
    for _, h in ipairs(list) do
      api.nvim_buf_set_lines(buf, h.row, h.row + h.count, true, h.old)
    end
  end, clean and function()
    failure = require('pi.save').write(buf)
  end)
  for _, h in ipairs(list) do
    remove(file, h)
  end
  settle(file)
  remember(file)
  draw(file)
  return failure
end

--- The hunks are no more.
function M.drop(file, list)
  for _, h in ipairs(list) do
    remove(file, h)
  end
  draw(file)
end

--- Opens the buffer of a file whose hunks wait, without a window and without a question
--- about swap files.
function M.load(file)
  if not file.buf then
    local buf = vim.fn.bufadd(file.path)
    vim.cmd(('noswapfile call bufload(%d)'):format(buf))
    vim.bo[buf].buflisted = true
    if not file.buf then
      attach(file, buf)
    end
  end
  return file.buf
end

--- Forgets everything, for instance when another conversation begins.
function M.forget()
  for _, file in pairs(files) do
    if file.buf then
      api.nvim_buf_clear_namespace(file.buf, anchors, 0, -1)
      signs.draw(file.buf, {})
    end
  end
  files, by_buf, M.history = {}, {}, {}
end

-- A file that did not exist before.
local function created(path)
  local stat = uv.fs_stat(path)
  local ok, lines = pcall(vim.fn.readfile, path, '', 10001)
  if not ok or not stat or stat.size > CREATED_MAX or #lines == 0 or #lines > 10000 then
    return
  end
  local file = file_of_path(path)
  file.hunks = {
    {
      row = 0,
      count = #lines,
      new = lines,
      old = {},
      above = {},
      below = {},
      created = true,
    },
  }
  table.insert(M.history, { path = path })
end

-- file_changed comes right before the end of its call, which has the patch, says that the
-- file is new, or is silent because it is too large.
local on_disk = {}

bus.on('file_changed', function(event)
  if not event.inEditor then
    table.insert(on_disk, event.path)
  end
end)

bus.on('tool_execution_end', function(event)
  local paths, details = on_disk, type(event.result) == 'table' and event.result.details
  on_disk = {}
  for _, path in ipairs(paths) do
    local open = require('pi.buffer').find(path)
    local known = type(details) == 'table' and not open
    if known and details.patch then
      M.changed_on_disk(path, details.patch)
    elseif known and details.created then
      created(path)
    end
  end
end)

return M
