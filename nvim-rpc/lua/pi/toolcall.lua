-- One call of a tool, as a block of the conversation: a title with how it went, and below
-- it what it said: nothing, its last lines, or all of it.

local hunks = require('pi.hunks')
local lines_of = require('pi.lines')
local view_of = require('pi.view')
local M = {}

local TAIL = 10 -- lines that are shown at first
local TITLE_BYTES = 200
local REMARKS_BYTES = 1000 -- at the end of a result

local CLOSED, PART, ALL = 'closed', 'part', 'all'

---@class pi.ToolCall
---@field view pi.View
---@field block pi.Block
---@field name string
---@field args table
---@field lines pi.Lines what it said
---@field shows string
local Call = {}
Call.__index = Call

local running = {} -- call -> true

local function now()
  return vim.loop.hrtime() / 1e9
end

--- A time for people: "8 s", "2 min 5 s".
function M.duration(seconds)
  seconds = math.floor(seconds)
  if seconds < 60 then
    return ('%d s'):format(seconds)
  end
  return ('%d min %d s'):format(math.floor(seconds / 60), seconds % 60)
end

local function first_line(text)
  local line, rest = text:match('^([^\n]*)\n?(.*)$')
  local more = #vim.split(vim.trim(rest), '\n', { plain = true, trimempty = true })
  return view_of.fold_line(line, TITLE_BYTES)
    .. (more > 0 and (' … (+%d lines)'):format(more) or '')
end

function Call:title()
  return '▸ ' .. self.label .. (self.state and '  — ' .. self.state or '')
end

-- What is shown below the title.
function Call:body()
  if self.shows == CLOSED then
    return {}
  end
  local count = self.lines:count()
  local shown
  local above, below = 0, 0
  if self.shows == ALL then
    shown = self.lines:first()
  elseif self.diff then
    shown = self.lines:first(TAIL)
    below = count - #shown
  else
    shown = self.lines:last(TAIL)
    above = count - #shown
  end
  local bar = self.diff and '┃ ' or '│ '
  local body = vim.tbl_map(function(line)
    return bar .. line
  end, shown)
  if above > 0 then
    table.insert(body, 1, ('│ … %d lines above, <Tab> shows them'):format(above))
  end
  if below > 0 then
    table.insert(body, ('┃ … %d lines more, <Tab> shows them'):format(below))
  end
  if self.log then
    table.insert(body, '│ full log: ' .. self.log)
  end
  return body
end

local signs = {
  running = { '…', 'PiRunning' },
  ok = { '✓', 'PiOk' },
  failed = { '✗', 'PiError' },
}

function Call:decoration()
  local sign = signs[self.outcome or 'running']
  local decoration = { sign_text = sign[1], sign_hl_group = sign[2] }
  if not self.outcome then
    local words = '  running ' .. M.duration(now() - self.since)
    decoration.virt_text = { { words, 'PiRunning' } }
  end
  return decoration
end

function Call:draw()
  self.view:set_block(self.block, self:title(), self:body(), self:decoration())
end

--- Shows a call that begins. title: of the event; without it one is made.
---@return pi.ToolCall
function M.start(view, name, args, title)
  local label = title
  if not label then
    local what = args.path or args.pattern or ''
    label = args.command and '$ ' .. args.command or vim.trim(name .. ' ' .. what)
  end
  local call = setmetatable({
    view = view,
    name = name,
    args = args,
    label = first_line(label),
    lines = lines_of.new(),
    shows = PART,
    since = now(),
  }, Call)
  call.block = view:add_block(call:title(), {})
  call.block.call = call
  running[call] = true
  call:draw()
  require('pi.status').wake()
  return call
end

--- Adds output that came.
function Call:output(text, skipped)
  if skipped and skipped > 0 then
    local apart = self.lines.partial and '\n' or ''
    self.lines:add(('%s[%d bytes are not shown]\n'):format(apart, skipped))
  end
  self.lines:add(text)
  self:draw()
end

local function text_of(content)
  local texts = {}
  for _, block in ipairs(content or {}) do
    table.insert(texts, block.type == 'image' and '[image]' or block.text or '')
  end
  return table.concat(texts, '\n')
end

-- How a failure is called, from what the model was told of it.
local function failure(text)
  local code = text:match('Command exited with code (%-?%d+)%s*$')
  if code then
    return 'exit ' .. code
  end
  for words, name in pairs({
    ['Command timed out'] = 'timed out',
    ['[Aa]borted'] = 'aborted',
    ['did not allow'] = 'denied',
  }) do
    if text:find(words) then
      return name
    end
  end
  return 'failed'
end

-- The lines that a unified diff adds and takes away.
local function count_changes(patch)
  local added, removed = 0, 0
  for _, h in ipairs(hunks.parse(patch)) do
    added, removed = added + #h.new, removed + #h.old
  end
  return added, removed
end

-- What a call that succeeded shows at first.
local first_shown = { read = CLOSED, grep = CLOSED, find = CLOSED, ls = CLOSED }

-- A new file, as a diff shows it, and how many lines it has.
local function numbered(content)
  local lines = vim.split(content, '\n', { plain = true })
  if lines[#lines] == '' then
    table.remove(lines)
  end
  for i, line in ipairs(lines) do
    lines[i] = ('+%d %s'):format(i, line)
  end
  return table.concat(lines, '\n'), #lines
end

-- What the title and the line of the log say is not said again. It stands at the end; the
-- rest may be long.
local function without_remarks(text, log)
  local rest, last = text:sub(1, -REMARKS_BYTES - 1), text:sub(-REMARKS_BYTES)
  if log then
    last = last:gsub('\n*%[Showing [^\n]*%]', '')
  end
  return rest .. last:gsub('\n*Command exited with code %-?%d+%s*$', '')
end

local function take_result(call, result, failed)
  local details = type(result.details) == 'table' and result.details or {}
  local text = text_of(result.content)
  if details.diff and not failed then
    call.diff = true
    call.added, call.removed = count_changes(details.patch or '')
    text = details.diff
  end
  local content = details.created and call.args.content
  if not failed and type(content) == 'string' then
    call.diff = true
    text, call.added = numbered(content)
    call.removed = 0
  end
  call.log = details.fullOutputPath
  call.lines:set(without_remarks(text, call.log))
  if not failed and first_shown[call.name] and not call.diff then
    call.shows = CLOSED
  end
  return text
end

--- The call is over. result: { content, details }; outcome, when it is known: a word.
function Call:finish(result, failed, without_time)
  running[self] = nil
  local text = take_result(self, result, failed)
  local state = failed and failure(text) or 'ok'
  if self.added then
    state = ('%s, +%d -%d'):format(state, self.added, self.removed)
  end
  local seconds = now() - self.since
  if seconds >= 1 and not without_time then
    state = ('%s, %s'):format(state, M.duration(seconds))
  end
  self.state, self.outcome = state, failed and 'failed' or 'ok'
  self:draw()
end

--- Shows more: the next of nothing, the last lines, all.
function Call:toggle()
  local long = self.lines:count() > TAIL
  local after = { [CLOSED] = PART, [PART] = long and ALL or CLOSED, [ALL] = CLOSED }
  self.shows = after[self.shows]
  self:draw()
end

--- The place in a file that a line of the block shows, or nil: path, line.
function Call:place(below)
  local path = self.args.path
  if self.diff and below > 0 then
    local line = self:body()[below]
    local number = line and line:match('^┃ [ +-]%s*(%d+) ')
    return path, tonumber(number)
  end
  return path, self.args.offset
end

--- Draws the time of the calls that run; false when there are none.
function M.tick()
  for call in pairs(running) do
    if vim.api.nvim_buf_is_valid(call.view.buf) then
      call.view:set_block(call.block, call:title(), nil, call:decoration())
    else
      running[call] = nil
    end
  end
  return next(running) ~= nil
end

--- Nothing that ran in this view goes on.
function M.forget(view)
  for call in pairs(running) do
    if call.view == view then
      call:finish({ content = {} }, true)
    end
  end
end

return M
