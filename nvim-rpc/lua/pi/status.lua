-- What a status line may show, and the clock that drives it while an agent works.

local bus = require('pi.bus')
local interrupt = require('pi.interrupt')
local M = {}

local FRAMES = { '⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏' }
local TICK_MS = 250

local texts = setmetatable({}, { __mode = 'k' }) -- session -> what statusline() returns
local frame = 1
local timer
local ticks = 0

--- A number of tokens for people: "850", "12k", "1.2M".
function M.count(n)
  if n < 1000 then
    return tostring(n)
  elseif n < 1e6 then
    return ('%dk'):format(math.floor(n / 1000 + 0.5))
  end
  return ('%.1fM'):format(n / 1e6)
end

local function questions_of(session)
  local n = 0
  for _, q in ipairs(require('pi.questions').waiting()) do
    n = n + (q.session == session and 1 or 0)
  end
  return n
end

local function make(session)
  local words = { 'pi' }
  if session.running then
    table.insert(words, FRAMES[frame])
  end
  local model = session.model
  if model then
    -- A status line may take "%" for an item.
    table.insert(words, ((model.id or model.name):gsub('[%c%%]', '')))
  end
  local usage = session.usage
  if usage and usage.context > 0 then
    local window = model and model.contextWindow or 0
    table.insert(words, M.count(usage.context) .. (window > 0 and '/' .. M.count(window) or ''))
  end
  if usage and usage.cost > 0 then
    table.insert(words, ('$%.2f'):format(usage.cost))
  end
  local asked = questions_of(session)
  if asked > 0 then
    table.insert(words, '?' .. asked)
  end
  local changed = session.changed
  if changed and changed.added + changed.removed > 0 then
    table.insert(words, ('+%d-%d'):format(changed.added, changed.removed))
  end
  return table.concat(words, ' ')
end

local function update(session)
  local text = make(session)
  if texts[session] ~= text then
    texts[session] = text
    return true
  end
end

--- The state of the session of the current directory, or '' without one. Costs nothing.
---@return string
function M.statusline()
  local session = require('pi.session').current()
  return session and (texts[session] or 'pi') or ''
end

--- The directory of the session, for people.
---@return string
function M.place()
  local session = require('pi.session').current()
  return session and vim.fn.fnamemodify(session.cwd, ':~') or ''
end

local redraw_due = false

local function refresh()
  for _, session in ipairs(require('pi.session').all()) do
    redraw_due = update(session) or redraw_due
  end
  local current = M.statusline()
  if vim.g.pi_status ~= current then
    vim.g.pi_status = current
    redraw_due = true
  end
  -- In the command line there may be a menu in the place of the status line.
  if redraw_due and not vim.api.nvim_get_mode().mode:find('^c') then
    redraw_due = false
    vim.cmd('redrawstatus!')
  end
end

local function anybody_runs()
  for _, session in ipairs(require('pi.session').all()) do
    if session.running then
      return true
    end
  end
end

local function check_connections()
  for _, session in ipairs(require('pi.session').all()) do
    if session.connection then
      session.connection:check()
    end
  end
end

local dirty = false

-- Four times a second while there is something to tell, and then not at all.
local function tick()
  local running = anybody_runs()
  if running then
    frame = frame % #FRAMES + 1
  end
  ticks = ticks + 1
  local calls = true
  if ticks % 4 == 0 then
    calls = require('pi.toolcall').tick()
    check_connections()
  end
  refresh()
  if not (running or dirty or calls or redraw_due) then
    timer:stop()
    timer:close()
    timer = nil
  end
  dirty = false
end

--- Starts the clock unless it runs.
function M.wake()
  dirty = true
  if not timer then
    local on_time = interrupt.wrap(function()
      if timer and vim.v.exiting == vim.NIL then
        tick()
      end
    end)
    timer = vim.loop.new_timer()
    timer:start(TICK_MS, TICK_MS, vim.schedule_wrap(on_time))
  end
end

bus.on('*', M.wake)

-- vim.g.pi_status is that of the current directory.
vim.api.nvim_create_autocmd({ 'DirChanged', 'TabEnter' }, {
  group = vim.api.nvim_create_augroup('PiStatus', { clear = true }),
  callback = M.wake,
})

return M
