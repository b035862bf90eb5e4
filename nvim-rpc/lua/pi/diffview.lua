-- A scratch window with the changes that wait, hunk by hunk, or with both sides of a file
-- that changed on disk and in its buffer.

local api = vim.api
local change = require('pi.change')
local review = require('pi.review')
local M = {}

local CONTEXT = 3

local views = {} -- buffer -> { path = nil | string, places = line -> { file, hunk } }

local function short(path)
  return vim.fn.fnamemodify(path, ':~:.')
end

local function current_lines(file)
  if file.buf then
    return change.lines(file.buf)
  end
  local ok, lines = pcall(vim.fn.readfile, file.path)
  return ok and lines or {}
end

-- The lines of a hunk; old is its row before all changes.
local function hunk_lines(h, lines, old)
  local from = math.max(h.row - CONTEXT, 0)
  local to = math.min(h.row + h.count + CONTEXT, #lines)
  local around = to - from - h.count
  local head = ('@@ -%d,%d +%d,%d @@'):format(
    old - (h.row - from) + 1,
    around + #h.old,
    from + 1,
    to - from
  )
  local out = { head }
  local function add(prefix, list)
    for _, line in ipairs(list) do
      table.insert(out, prefix .. line:gsub('\n', '\0'))
    end
  end
  add(' ', vim.list_slice(lines, from + 1, h.row))
  add('-', h.old)
  add('+', vim.list_slice(lines, h.row + 1, h.row + h.count))
  add(' ', vim.list_slice(lines, h.row + h.count + 1, to))
  return out
end

local function add_file(view, out, file)
  local lines, moved = current_lines(file), 0
  table.insert(out, '--- ' .. short(file.path) .. '  before')
  table.insert(out, '+++ ' .. short(file.path) .. (file.buf and '  now' or '  now, not open'))
  for _, h in ipairs(review.pending(file)) do
    for _, line in ipairs(hunk_lines(h, lines, h.row - moved)) do
      table.insert(out, line)
      view.places[#out] = { file, h }
    end
    moved = moved + h.count - #h.old
  end
end

-- The changes of one file or of all.
local function compose(view)
  local out = {}
  view.places = {}
  for _, file in ipairs(review.files()) do
    if not view.path or view.path == file.path then
      add_file(view, out, file)
    end
  end
  return #out > 0 and out or { 'Nothing waits for a review.' }
end

local function fill(buf, lines)
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].modifiable = false
end

--- Shows in each of these windows what is still waiting.
function M.refresh()
  for buf, view in pairs(views) do
    if not api.nvim_buf_is_valid(buf) then
      views[buf] = nil
    elseif view.places then
      fill(buf, compose(view))
    end
  end
end

-- The hunk at a line of the current buffer.
local function place(line)
  local view = views[api.nvim_get_current_buf()]
  return view and view.places and view.places[line]
end

--- The hunks that a command in such a window means, as { file, hunks } for each file; nil in
--- another window.
function M.chosen(c)
  local view = views[api.nvim_get_current_buf()]
  if not view or not view.places then
    return nil
  end
  local first, last = c.line1, c.line2
  if c.bang then
    first, last = 1, api.nvim_buf_line_count(0)
  elseif c.range == 0 then
    first = api.nvim_win_get_cursor(0)[1]
    last = first
  end
  local list, seen = {}, {}
  for line = first, last do
    local file, h = unpack(view.places[line] or {})
    if file and not seen[h] then
      seen[h] = true
      if not list[#list] or list[#list][1] ~= file then
        table.insert(list, { file, {} })
      end
      table.insert(list[#list][2], h)
    end
  end
  return list
end

local function jump()
  local file, h = unpack(place(api.nvim_win_get_cursor(0)[1]) or {})
  if file then
    require('pi.window').show_file(file.path, h.row + 1)
  end
end

local keys = {
  { 'ga', '<Cmd>Pi accept<CR>', 'accept the change' },
  { 'gd', '<Cmd>Pi reject<CR>', 'take the change back' },
  { '<CR>', jump, 'go to the change' },
  { ']c', "<Cmd>call search('^@@', 'W')<CR>", 'next change' },
  { '[c', "<Cmd>call search('^@@', 'bW')<CR>", 'change before' },
  { 'q', '<Cmd>close<CR>', 'close' },
}

local function create(title, view, lines)
  vim.cmd('botright new')
  local buf = api.nvim_get_current_buf()
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
  pcall(api.nvim_buf_set_name, buf, 'pi://diff/' .. title)
  vim.bo[buf].undolevels = -1
  fill(buf, lines)
  vim.bo[buf].filetype = 'diff'
  for _, key in ipairs(keys) do
    vim.keymap.set('n', key[1], key[2], { buffer = buf, nowait = true, desc = 'pi: ' .. key[3] })
  end
  views[buf] = view
  vim.fn.search('^@@', 'cW')
end

-- The file on disk and the buffer with unsaved changes.
local function open_conflict(buf)
  local path = api.nvim_buf_get_name(buf)
  local file = io.open(path, 'rb')
  local text = file and file:read('*a') or ''
  if file then
    file:close()
  end
  text = change.convert(
    text,
    vim.bo[buf].fileencoding ~= '' and vim.bo[buf].fileencoding or 'utf-8',
    'utf-8'
  ) or text
  local diff = (vim.text and vim.text.diff) or vim.diff
  text = diff((text:gsub('\r\n', '\n')), change.text(buf), { ctxlen = CONTEXT })
  local lines = vim.split(text, '\n', { plain = true, trimempty = true })
  table.insert(lines, 1, '+++ ' .. short(path) .. '  in Neovim, not saved')
  table.insert(lines, 1, '--- ' .. short(path) .. '  on disk')
  create(short(path), {}, lines)
end

local function real(name)
  local path = vim.fn.fnamemodify(name, ':p')
  return (vim.uv or vim.loop).fs_realpath(path) or path
end

-- The buffer that a name means, if its file changed on disk, too.
local function conflict(name)
  local buf = name == '' and api.nvim_get_current_buf() or require('pi.buffer').find(real(name))
  return buf and vim.b[buf].pi_conflict == 'conflict' and buf or nil
end

--- Shows the changes of a file, by default of the current one, else of all.
---@param name string
function M.open(name)
  if conflict(name) then
    open_conflict(conflict(name))
    return
  end
  local file = review.file(name == '' and api.nvim_get_current_buf() or real(name))
  if name ~= '' and not file then
    error('the agent has not changed ' .. name, 0)
  elseif name == '' and file and #review.pending(file) == 0 then
    file = nil
  end
  if #review.files() == 0 or file and #review.pending(file) == 0 then
    error('nothing waits for a review', 0)
  end
  local view = { path = file and file.path }
  create(file and short(file.path) or 'all', view, compose(view))
end

return M
