-- What a tool said, as lines. A result is split when its lines are asked for, since most of
-- them never are: a conversation that is resumed has thousands.

local view_of = require('pi.view')
local M = {}

-- Of more than this the oldest lines are dropped.
local MAX_LINES, MAX_BYTES = 2000, 256 * 1024
local LINE_BYTES = 1000

---@class pi.Lines
---@field list string[]
---@field bytes number in list
---@field partial boolean whether the last line goes on
---@field text string|nil what is not split yet, without the last line end
local Lines = {}
Lines.__index = Lines

---@return pi.Lines
function M.new()
  return setmetatable({ list = {}, bytes = 0, partial = false }, Lines)
end

local function drop_front(lines)
  local n, bytes = 0, lines.bytes
  while #lines.list - n > MAX_LINES or bytes > MAX_BYTES and #lines.list - n > 1 do
    n = n + 1
    bytes = bytes - #lines.list[n]
  end
  if n > 0 then
    lines.list = vim.list_slice(lines.list, n + 1)
    lines.bytes = bytes
  end
end

--- Adds text to the end.
function Lines:add(text)
  local pieces = vim.split(text, '\n', { plain = true })
  local last = self.partial and table.remove(self.list) or ''
  self.bytes = self.bytes - #last
  pieces[1] = last .. pieces[1]
  self.partial = pieces[#pieces] ~= ''
  if not self.partial then
    table.remove(pieces)
  end
  for _, line in ipairs(pieces) do
    line = view_of.fold_line(line, LINE_BYTES)
    table.insert(self.list, line)
    self.bytes = self.bytes + #line
  end
  drop_front(self)
end

--- Replaces all of it.
function Lines:set(text)
  self.list, self.bytes, self.partial = {}, 0, false
  self.text = text ~= '' and text:gsub('\n$', '') or nil
end

local function split(lines)
  local text = lines.text
  if text then
    lines.text = nil
    lines:add(text .. '\n')
  end
end

function Lines:count()
  if self.text then
    local _, ends = self.text:gsub('\n', '\n')
    return ends + 1
  end
  return #self.list
end

--- The last n of them, or fewer.
function Lines:last(n)
  if not self.text then
    return vim.list_slice(self.list, math.max(#self.list - n + 1, 1))
  end
  local at = #self.text + 1
  for _ = 1, n do
    repeat
      at = at - 1
    until at < 1 or self.text:byte(at) == 10
    if at < 1 then
      break
    end
  end
  local last = vim.split(self.text:sub(at + 1), '\n', { plain = true })
  return vim.tbl_map(function(line)
    return view_of.fold_line(line, LINE_BYTES)
  end, last)
end

--- The first n of them, or all.
function Lines:first(n)
  split(self)
  return vim.list_slice(self.list, 1, math.min(n or #self.list, #self.list))
end

return M
