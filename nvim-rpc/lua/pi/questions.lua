-- Questions that wait for the user: those of the agent (permission_request) and of the
-- plugin itself. They are lines in the conversation, never a dialog, and are answered by
-- number from anywhere, or by keys at the line. What nobody answers stays unanswered.

local bus = require('pi.bus')
local M = {}

local waiting = {} -- oldest first
local last_id, last_number = 0, 0

---@class pi.Question
---@field id number names it for withdraw()
---@field number number names it for the user
---@field session table
---@field lines string[] what is asked
---@field diff string|nil a unified diff
---@field answers string[] of 'once', 'session', 'deny'
---@field labels table<string, string> what the answers mean here
---@field on_answer fun(answer: string, reason: string|nil)

--- All that wait, oldest first.
---@return pi.Question[]
function M.waiting()
  return vim.list_slice(waiting)
end

local function find(field, value)
  for i, q in ipairs(waiting) do
    if q[field] == value then
      return q, i
    end
  end
end

--- Asks; see pi.Question for the fields. Without a session, the one of the directory.
---@return number id
function M.ask(q)
  last_number = #waiting == 0 and 1 or last_number + 1
  last_id = last_id + 1
  q.id, q.number = last_id, last_number
  q.session = q.session or require('pi.session').ensure()
  q.answers = q.answers or { 'once', 'deny' }
  q.labels = q.labels or {}
  table.insert(waiting, q)
  bus.emit({ type = 'question', question = q, id = q.id, number = q.number }, q.session)
  local words = ('?%d (:Pi allow, :Pi deny) %s'):format(q.number, q.lines[1] or '')
  require('pi.notify')(words)
  return q.id
end

local function finish(q, outcome)
  local _, i = find('id', q.id)
  if i then
    table.remove(waiting, i)
  end
  bus.emit({ type = 'question_end', question = q, outcome = outcome }, q.session)
end

--- Takes a question back.
---@param id number
---@param outcome string|nil what is shown, else 'withdrawn'
function M.withdraw(id, outcome)
  local q = find('id', id)
  if q then
    finish(q, outcome or 'withdrawn')
  end
end

local outcomes = { once = 'allowed', session = 'allowed for the session', deny = 'denied' }

-- The question that is meant, else an error that says how to name it.
local function pick(number)
  if number then
    return find('number', number) or error(('there is no question %d'):format(number), 0)
  elseif #waiting == 0 then
    error('nothing is asked', 0)
  elseif #waiting > 1 then
    local numbers = table.concat(
      vim.tbl_map(function(q)
        return tostring(q.number)
      end, waiting),
      ', '
    )
    error(('%d questions wait, name one by its number: %s'):format(#waiting, numbers), 0)
  end
  return waiting[1]
end

--- Gives an answer. Without a number there must be one question only.
---@param answer string 'once', 'session' or 'deny'
---@param number number|nil
---@param reason string|nil for the model
function M.answer(answer, number, reason)
  local q = pick(number)
  if not vim.tbl_contains(q.answers, answer) then
    local label = answer == 'session' and 'always' or answer
    error(('question %d cannot be answered with %s'):format(q.number, label), 0)
  end
  local outcome = outcomes[answer] .. (reason and ': ' .. reason or '')
  finish(q, q.labels[answer] and q.labels[answer] .. (reason and ': ' .. reason or '') or outcome)
  q.on_answer(answer, reason)
end

local verbs = { exec = 'wants to run', change = 'wants to change', other = 'wants to work' }

bus.on('permission_request', function(event, session)
  local what = event.command or event.path or ''
  local lines = vim.split(what, '\n', { plain = true })
  if event.diff then
    lines = { ('%s wants to change %s'):format(event.toolName, vim.fn.fnamemodify(what, ':~:.')) }
  else
    local verb = verbs[event.effect] or verbs.other
    lines[1] = ('%s %s%s'):format(event.toolName, verb, what == '' and '' or ': ' .. lines[1])
  end
  M.ask({
    session = session,
    event = event,
    lines = lines,
    diff = event.diff,
    answers = event.answers,
    labels = {},
    means = event.sessionMeans,
    on_answer = function(answer, reason)
      local params = { id = event.id, answer = answer, reason = reason }
      session:notify('answer_permission', params)
    end,
  })
end)

bus.on('permission_end', function(event, session)
  for _, q in ipairs(M.waiting()) do
    if q.session == session and q.event and q.event.id == event.id then
      M.withdraw(q.id, event.outcome)
    end
  end
end)

bus.on('session_end', function(_, session)
  for _, q in ipairs(M.waiting()) do
    if q.session == session then
      M.withdraw(q.id)
    end
  end
end)

return M
