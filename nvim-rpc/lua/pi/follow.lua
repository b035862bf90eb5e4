-- Follow mode: one window, marked by the user, shows what the agent reads and changes. It
-- never becomes the current window, and while the user is in it, it stays as it is.

local api = vim.api
local bus = require('pi.bus')
local command = require('pi.command')
local complete = require('pi.complete')
local M = {}

local LINES = 5000 -- of a file that is not open
local BYTES = 1024 * 1024

local window -- the marked one
local scratch -- shows files that are not open

local function is_on()
  return window and api.nvim_win_is_valid(window)
end

-- The beginning of a file that is not open. Its buffer is not loaded: that could ask about
-- swap files.
local function read(path)
  local file = io.open(path, 'rb')
  local bytes = file and file:read(BYTES) or ''
  if file then
    file:close()
  end
  local lines = vim.split(bytes:gsub('\r?\n$', ''), '\r?\n')
  return vim.list_slice(lines, 1, LINES)
end

local function fill_scratch(path)
  if not (scratch and api.nvim_buf_is_valid(scratch)) then
    scratch = api.nvim_create_buf(false, true)
    vim.bo[scratch].undolevels = -1
  end
  vim.bo[scratch].modifiable = true
  api.nvim_buf_set_lines(scratch, 0, -1, false, read(path))
  vim.bo[scratch].modifiable = false
  pcall(api.nvim_buf_set_name, scratch, 'pi://follow/' .. vim.fn.fnamemodify(path, ':~:.'))
  local filetype = vim.filetype and vim.filetype.match
  local ok, found = pcall(filetype or error, { filename = path, buf = scratch })
  vim.bo[scratch].syntax = ok and found or ''
  return scratch
end

local function put(buf, line)
  local ignored = vim.o.eventignore
  vim.o.eventignore = 'all'
  local ok = pcall(api.nvim_win_set_buf, window, buf)
  vim.o.eventignore = ignored
  if not ok then
    return
  end
  local row = math.max(math.min(line, api.nvim_buf_line_count(buf)), 1)
  api.nvim_win_call(window, function()
    vim.fn.winrestview({ lnum = row, col = 0, topline = math.max(row - 5, 1) })
  end)
end

--- Shows a place, unless the user is in the window.
function M.show(path, line)
  if not is_on() or api.nvim_get_current_win() == window or vim.fn.isdirectory(path) == 1 then
    return
  end
  local buf = require('pi.buffer').find(path)
  if not buf and vim.fn.filereadable(path) == 1 then
    buf = fill_scratch(path)
  end
  if buf then
    put(buf, line or 1)
  end
end

local function absolute(path, cwd)
  path = path:gsub('^@', '')
  if path:find('^~') then
    path = vim.fn.fnamemodify(path, ':p') -- not expand(), which runs what stands in backticks
  elseif not path:find('^/') then
    path = cwd .. '/' .. path
  end
  return (vim.uv or vim.loop).fs_realpath(path) or path
end

bus.on('tool_execution_start', function(event, session)
  local args = type(event.args) == 'table' and event.args or {}
  if type(args.path) == 'string' then
    M.show(absolute(args.path, session.cwd), tonumber(args.offset))
  end
end)

bus.on('file_changed', function(event)
  local changes = type(event.changes) == 'table' and event.changes or {}
  M.show(event.path, changes[1] and changes[1].line)
end)

local function turn_off()
  if is_on() then
    vim.w[window].pi_follow = nil
    require('pi.window').set_local(window, { 'cursorline<' })
  end
  window = nil
end

--- Marks a window, or with nil none.
function M.mark(win)
  turn_off()
  window = win
  if win then
    vim.w[win].pi_follow = true
    require('pi.window').set_local(win, { 'cursorline' })
  end
end

command.register('follow', {
  desc = 'let the current window show what the agent looks at (on, off)',
  run = function(c)
    local word = c.words[1]
    local on = word == 'on' or word == nil and not is_on()
    M.mark(on and api.nvim_get_current_win() or nil)
    require('pi.notify')(
      on and 'this window follows the agent while you are in another' or 'no window follows'
    )
  end,
  complete = function(lead)
    return complete.starting_with({ 'on', 'off' }, lead)
  end,
})

return M
