-- Hunks: what was changed where, as plain values. Nothing here knows buffers.
--
-- A hunk stands at `row` (from 0) of the text after the change: there are its lines `new`,
-- in the place of the lines `old`. `above` and `below` are up to three lines around it, by
-- which it is found again in a text that moved on.

local change = require('pi.change')
local M = {}

local CONTEXT = 3
local MOST = 300 -- hunks of one change; with more of them, neighbours become one

---@class pi.Hunk
---@field row number from 0
---@field new string[]
---@field old string[]
---@field above string[]
---@field below string[]

local function slice(lines, from, to)
  return vim.list_slice(lines, math.max(from, 1), math.min(to, #lines))
end

local function make(lines, row, new, old)
  return {
    row = row,
    new = new,
    old = old,
    above = slice(lines, row - CONTEXT + 1, row),
    below = slice(lines, row + #new + 1, row + #new + CONTEXT),
  }
end

-- Differences as { from row, count, from row, count }, from 0.
local function differences(before, after)
  return vim.tbl_map(function(d)
    local from, count, new_from, new_count = unpack(d)
    return {
      count > 0 and from - 1 or from,
      count,
      new_count > 0 and new_from - 1 or new_from,
      new_count,
    }
  end, change.diff(before, after))
end

-- Makes one of differences with so few lines between them.
local function join(diffs, gap)
  local joined = {}
  for _, d in ipairs(diffs) do
    local last = joined[#joined]
    if last and d[1] - (last[1] + last[2]) <= gap then
      last[2], last[4] = d[1] + d[2] - last[1], d[3] + d[4] - last[3]
    else
      table.insert(joined, vim.list_slice(d))
    end
  end
  return joined
end

--- What turned one list of lines into another.
---@return pi.Hunk[]
function M.of(before, after)
  local all = differences(before, after)
  local diffs, gap = all, 1
  while #diffs > MOST do
    diffs, gap = join(all, gap), gap * 2
  end
  return vim.tbl_map(function(d)
    local new = slice(after, d[3] + 1, d[3] + d[4])
    return make(after, d[3], new, slice(before, d[1] + 1, d[1] + d[2]))
  end, diffs)
end

-- Groups of differences and known hunks that overlap or touch, in the order of the text.
local function groups(known, diffs)
  local items = {}
  for _, h in ipairs(known) do
    table.insert(items, { from = h.row, to = h.row + h.count, hunk = h })
  end
  for _, d in ipairs(diffs) do
    table.insert(items, { from = d[1], to = d[1] + d[2], diff = d })
  end
  table.sort(items, function(a, b)
    if a.from ~= b.from then
      return a.from < b.from
    end
    return a.to < b.to
  end)
  local result = {}
  for _, item in ipairs(items) do
    local last = result[#result]
    if not last or item.from > last.to then
      last = { from = item.from, to = item.to, hunks = {}, diffs = {} }
      table.insert(result, last)
    end
    last.to = math.max(last.to, item.to)
    table.insert(item.hunk and last.hunks or last.diffs, item.hunk or item.diff)
  end
  return result
end

-- The lines of a group before any of its hunks.
local function baseline(group, before)
  local lines, row = {}, group.from
  for _, h in ipairs(group.hunks) do
    vim.list_extend(lines, slice(before, row + 1, h.row))
    vim.list_extend(lines, h.old)
    row = h.row + h.count
  end
  return vim.list_extend(lines, slice(before, row + 1, group.to))
end

--- The hunks after another change. known: those before it, in the order of the text, with
--- `count`, the lines that each has now. What touches the change becomes one with it, as it
--- was before both; the others come back as they are, with a new row.
---@return table[] kept { hunk, row }
---@return pi.Hunk[] new
function M.merge(known, before, after)
  local kept, new, moved = {}, {}, 0
  local diffs = differences(before, after)
  diffs = #diffs > MOST and join(diffs, #before) or diffs
  for _, group in ipairs(groups(known, diffs)) do
    if #group.diffs == 0 then
      for _, h in ipairs(group.hunks) do
        table.insert(kept, { h, h.row + moved })
      end
    else
      local first = group.from + moved
      for _, d in ipairs(group.diffs) do
        moved = moved + d[4] - d[2]
      end
      local lines = slice(after, first + 1, group.to + moved)
      for _, h in ipairs(M.of(baseline(group, before), lines)) do
        table.insert(new, make(after, first + h.row, h.new, h.old))
      end
    end
  end
  return kept, new
end

local function matches(lines, row, wanted)
  for i, line in ipairs(wanted) do
    if lines[row + i] ~= line then
      return false
    end
  end
  return true
end

-- How many lines of the context stand around `count` lines at row.
local function score(lines, row, count, h)
  local points = 0
  for i = 0, #h.above - 1 do
    if lines[row - i] ~= h.above[#h.above - i] then
      break
    end
    points = points + 1
  end
  for i = 1, #h.below do
    if lines[row + count + i] ~= h.below[i] then
      break
    end
    points = points + 1
  end
  return points
end

--- Where the lines `wanted` of a hunk stand: the row, or nil. Of several places the one whose
--- surroundings fit best, then the nearest to `near`.
function M.locate(lines, h, wanted, near)
  local best, best_score, best_distance
  local full = #h.above + #h.below
  for row = 0, #lines - #wanted do
    if matches(lines, row, wanted) then
      local points, distance = score(lines, row, #wanted, h), math.abs(row - near)
      local enough = points > 0 or #wanted > 0 and full == 0
      if
        enough
        and (not best or points > best_score or points == best_score and distance < best_distance)
      then
        best, best_score, best_distance = row, points, distance
      end
    end
  end
  return best
end

--- The row between two whose surroundings fit a hunk without lines best.
function M.best_gap(lines, h, first, last)
  local best, best_score
  for row = first, last do
    local points = score(lines, row, 0, h)
    local at_end = #h.below == 0 and row == #lines or #h.above == 0 and row == 0
    points = points + (at_end and 1 or 0)
    if not best or points > best_score then
      best, best_score = row, points
    end
  end
  return best
end

--- Takes note of what is around a hunk now.
function M.look_around(lines, h)
  h.above = slice(lines, h.row - CONTEXT + 1, h.row)
  h.below = slice(lines, h.row + h.count + 1, h.row + h.count + CONTEXT)
end

--- Whether a hunk stands at a row: its new lines, and for a deletion what was around it.
function M.stands(lines, h, row)
  if #h.new > 0 then
    return matches(lines, row, h.new)
  end
  return score(lines, row, 0, h) == #h.above + #h.below
end

--- Whether a hunk was undone at a row: its old lines are there again.
function M.undone(lines, h, row)
  return matches(lines, row, h.old) and score(lines, row, #h.old, h) > 0
end

-- Takes the lines of a unified diff, one after the other.
local parser = {}
parser.__index = parser

function parser:close()
  if self.hunk then
    self.hunk.below = slice(self.same, 1, CONTEXT)
    table.insert(self.hunks, self.hunk)
    self.hunk = nil
  end
end

function parser:header(line)
  local old, from, new = line:match('^@@ %-%d+,?(%d*) %+(%d+),?(%d*) @@')
  if from then
    self:close()
    self.old_left, self.new_left = tonumber(old) or 1, tonumber(new) or 1
    self.row = tonumber(from) - (self.new_left > 0 and 1 or 0)
    self.same = {}
  end
end

function parser:body(kind, text)
  if kind == ' ' then
    table.insert(self.same, text)
  elseif kind == '+' or kind == '-' then
    if #self.same > 0 then
      self:close()
    end
    self.hunk = self.hunk
      or {
        row = self.row,
        new = {},
        old = {},
        above = slice(self.same, #self.same - CONTEXT + 1, #self.same),
      }
    self.same = {}
    table.insert(kind == '+' and self.hunk.new or self.hunk.old, text)
  end
  if kind == ' ' or kind == '+' then
    self.row, self.new_left = self.row + 1, self.new_left - 1
  end
  if kind == ' ' or kind == '-' then
    self.old_left = self.old_left - 1
  end
end

--- The hunks of a unified diff.
---@return pi.Hunk[]
function M.parse(patch)
  local p = setmetatable({ hunks = {}, same = {}, row = 0, old_left = 0, new_left = 0 }, parser)
  for _, line in ipairs(vim.split(patch, '\n', { plain = true })) do
    if p.old_left > 0 or p.new_left > 0 then
      p:body(line:sub(1, 1), line:sub(2))
    else
      p:header(line)
    end
  end
  p:close()
  return p.hunks
end

return M
